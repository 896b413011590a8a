"""Waits for what other processes and threads do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

LONGEST_SECONDS: Final = 300.0
"""Far more than anything takes, also while other test runs share the machine."""


def wait_until(
    done: Callable[[], bool],
    what: str,
    seconds: float = LONGEST_SECONDS,
    *,
    pause_seconds: float = 0.05,
) -> None:
    """Wait for a condition; fails with its name."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, f"not reached in {seconds:g} s: {what}"
        time.sleep(pause_seconds)
