"""Queues box starts: as many run at a time as there are cores.

A start mostly computes (it imports libraries), so more starts than cores delay each other. Beyond
that limit, a profile that a match waits for may always run one start. So quick starts do not wait
behind slow ones. bubblewrap ends a box when the thread that started it ends, so the threads live as
long as the pool.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from sandbox import profiles

SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 10.0
"""Pause between two attempts to start a box while starts fail."""


@dataclass
class StartPause:
    """The pause before a box is started again after a failure. It grows with each failure."""

    seconds: float = SHORTEST_PAUSE_SECONDS
    over_at: float = 0.0

    def grow(self) -> None:
        self.over_at = time.monotonic() + self.seconds
        self.seconds = min(2 * self.seconds, LONGEST_PAUSE_SECONDS)


@dataclass(eq=False)
class _QueuedStart:
    """A start that has not begun. ``is_asked`` if a match waits for its box."""

    profile: str
    work: Callable[[], None]
    is_asked: bool
    future: Future[None] = field(default_factory=Future)


class StartQueue:
    """The queue of starts. ``most`` is how many run at a time; default: the host's cores."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most or len(os.sched_getaffinity(0))
        self._changed = threading.Condition()
        self._waiting: list[_QueuedStart] = []
        self._running = Counter[str]()
        self._is_closed = False
        self._threads = ThreadPoolExecutor(
            self._most + len(profiles.PROFILES), thread_name_prefix="starts"
        )

    def add(self, profile: str, work: Callable[[], None], *, is_asked: bool) -> Future[None]:
        """Queue ``work``. Starts that a match waits for go first."""
        start = _QueuedStart(profile, work, is_asked)
        with self._changed:
            if self._is_closed:
                start.future.cancel()
                return start.future
            self._waiting.append(start)
            self._begin()
        return start.future

    def hasten(self, profile: str) -> None:
        """Mark the oldest start of this profile as one that a match waits for."""
        with self._changed:
            for start in self._waiting:
                if start.profile == profile and not start.is_asked:
                    start.is_asked = True
                    break
            self._begin()

    def close(self) -> None:
        """Cancel the starts that have not begun. No more begin."""
        with self._changed:
            self._is_closed = True
            dropped, self._waiting = self._waiting, []
        for start in dropped:
            start.future.cancel()
        self._threads.shutdown(wait=False)

    def wait_until_ended(self, seconds: float) -> bool:
        """Whether all starts that had begun end within this time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running.total(), seconds)

    def _begin(self) -> None:
        """Give the threads every start that may begin. The caller has the lock."""
        while True:
            free = self._running.total() < self._most
            able = [
                start
                for start in self._waiting
                if free or (start.is_asked and not self._running[start.profile])
            ]
            if not able:
                return
            start = min(able, key=lambda each: (not each.is_asked, self._running[each.profile]))
            self._waiting.remove(start)
            self._running[start.profile] += 1
            self._threads.submit(self._run, start)

    def _run(self, start: _QueuedStart) -> None:
        start.future.set_running_or_notify_cancel()
        error: BaseException | None = None
        try:
            start.work()
        except BaseException as caught:
            error = caught
        if error is None:
            start.future.set_result(None)
        else:
            start.future.set_exception(error)
        with self._changed:
            self._running[start.profile] -= 1
            self._changed.notify_all()
            if not self._is_closed:
                self._begin()
