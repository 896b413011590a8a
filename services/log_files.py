"""The log files of child processes."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

LOG_BYTES: Final = 20 * 1024 * 1024
"""Size above which a log is renamed."""


def rotate_log(log: Path) -> Path:
    """The log. Renames a large one first, so that at most two exist."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
    return log
