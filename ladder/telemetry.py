"""Writes events as JSON lines on standard error: an event's name and its fields."""

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
    """Writes one line: the time, the process, the level, the event's name, then the fields.

    ``warning`` is an alarm or a failure with a retry; ``error`` needs attention. Values that JSON
    does not support become text. Never raises, because a full disk or a closed pipe must not stop
    the program.
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
        # One write, so lines of several processes in one file do not mix.
        sys.stderr.write(json.dumps(line, default=str) + "\n")
        sys.stderr.flush()


@contextmanager
def bind_fields(**fields: object) -> Iterator[None]:
    """Adds these fields to every line of this thread within the context."""
    token = _bound.set({**_bound.get(), **fields})
    try:
        yield
    finally:
        _bound.reset(token)


def traceback_text(error: BaseException) -> str:
    """Returns the traceback of an error as one text, for a field."""
    return "".join(traceback.format_exception(error))
