"""Measures whether this node runs late: a thread sleeps short steps and records late wake-ups.

It serves nodes whose kernel does not report waiting for a core. It shows only that in some interval
even an almost idle thread had to wait.
"""

from __future__ import annotations

import threading
from collections import deque
from time import monotonic
from types import TracebackType
from typing import Final

STEP_SECONDS: Final = 0.005
_NOTED_SECONDS: Final = 0.002
_KEPT: Final = 4096


class DelayMonitor:
    """Measures within a ``with`` block, in the process whose node is in doubt."""

    def __init__(self) -> None:
        self._late: deque[tuple[float, float]] = deque(maxlen=_KEPT)
        self._due_at = monotonic() + STEP_SECONDS
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="delay monitor", daemon=True)

    def lag_seconds(self, since: float) -> float:
        """The worst delay after ``since`` (monotonic clock), an overdue step included.

        It keeps the last 4096 late steps.
        """
        overdue = monotonic() - self._due_at
        lags = [lag for at, lag in tuple(self._late) if at >= since]
        return max(0.0, overdue, *lags)

    def __enter__(self) -> DelayMonitor:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._due_at = monotonic() + STEP_SECONDS
            if self._stop.wait(STEP_SECONDS):
                return
            now = monotonic()
            if now - self._due_at > _NOTED_SECONDS:
                self._late.append((now, now - self._due_at))
