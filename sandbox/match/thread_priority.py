"""Runs the referee's thread before the boxes that it times.

All boxes together weigh as much as ten processes on each core. A referee of ordinary priority on a
busy host can wait seconds for a core, while an agent computes long past its limit.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Final

REFEREE_NICE: Final = -10
"""The priority of the services that ``peck up`` starts."""


@contextlib.contextmanager
def keep_time_first() -> Iterator[None]:
    """Raise this thread's ordinary priority inside the block, if that is allowed."""
    thread = threading.get_native_id()
    before = os.getpriority(os.PRIO_PROCESS, thread)
    raised = REFEREE_NICE < before <= 0 and _set_nice(thread, REFEREE_NICE)
    try:
        yield
    finally:
        if raised:
            _set_nice(thread, before)


def _set_nice(thread: int, nice: int) -> bool:
    try:
        os.setpriority(os.PRIO_PROCESS, thread, nice)
    except OSError:
        return False
    return True
