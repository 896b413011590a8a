"""What happened, as one JSON object a line on standard error: an event's name and its fields."""

from __future__ import annotations

import json
import os
import sys
import traceback
from datetime import UTC, datetime


def emit(event: str, **fields: object) -> None:
    """Write one line: the moment, the process, the event's name, then the fields as given.

    Values that JSON does not know are written as text. Never raises: a full disk or a closed pipe
    must not stop the work that is told about.
    """
    line = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "pid": os.getpid(),
        "event": event,
        **fields,
    }
    try:
        # One write, so that lines of several processes on one file do not mix.
        sys.stderr.write(json.dumps(line, default=str) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def trace(error: BaseException) -> str:
    """The traceback of an error as one text, for a field."""
    return "".join(traceback.format_exception(error))
