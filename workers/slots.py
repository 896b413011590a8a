"""How many matches a worker plays at a time, counted over all its processes.

The pool of Celery and the process beside it (``workers.standby``) both play. Each match holds one
byte of a file that all these processes inherit. The kernel frees the byte when its process dies.
"""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from workers.liveness import record_answer

LOOK_SECONDS: Final = 0.2


class Slots:
    """The slots of a worker. Make them before the worker forks. A process holds one at most."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._file = os.memfd_create("slots")
        weakref.finalize(self, os.close, self._file)

    @contextmanager
    def hold_one(self) -> Iterator[None]:
        """Waits for a free slot and holds it inside this block. A message that waits here is not
        lost: the scheduler might send it again only after a minute."""
        while (slot := self._take_one()) is None:
            record_answer()  # waiting for a slot is no stall
            time.sleep(LOOK_SECONDS)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, slot)

    def _take_one(self) -> int | None:
        for slot in range(self._count):
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
            except BlockingIOError:
                continue
            return slot
        return None
