"""What happened, as one JSON object a line on standard error: an event's name and its fields."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, Literal

Level = Literal["info", "warning", "error"]
_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
_bound: ContextVar[Mapping[str, object]] = ContextVar("bound", default=_NOTHING)


def log_event(event: str, *, level: Level = "info", **fields: object) -> None:
    """Write one line: the moment, the process, the level, the event's name, then the fields.

    ``warning`` is an alarm or a failure that is tried again, ``error`` one that somebody has to
    look at. Values that JSON does not know are written as text. Never raises: a full disk or a
    closed pipe must not stop the work that the line describes.
    """
    line = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "pid": os.getpid(),
        "level": level,
        "event": event,
        **_bound.get(),
        **fields,
    }
    with suppress(OSError, ValueError):
        # One write, so that lines of several processes on one file do not mix.
        sys.stderr.write(json.dumps(line, default=str) + "\n")
        sys.stderr.flush()


@contextmanager
def bind_fields(**fields: object) -> Iterator[None]:
    """Within, every line of this thread has these fields."""
    token = _bound.set({**_bound.get(), **fields})
    try:
        yield
    finally:
        _bound.reset(token)


def traceback_text(error: BaseException) -> str:
    """The traceback of an error as one text, for a field."""
    return "".join(traceback.format_exception(error))
