"""Says how early a request can have arrived that a busy process only now begins to handle.

An event loop that is blocked sees a request late. A deadline must not suffer from that, so a task
records the time again and again. A request cannot have arrived before the second-last record: the
loop has read its connections since then.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

TICK_SECONDS: Final = 0.02


class LoopClock:
    """The last two notes of one event loop."""

    def __init__(self) -> None:
        self._notes: tuple[float, float] | None = None

    def earliest_arrival(self) -> float:
        """The earliest moment of ``time.monotonic`` at which a request seen now can have arrived.

        It is now if the clock does not tick.
        """
        return time.monotonic() if self._notes is None else self._notes[0]

    @asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """Notes the time until the end of the context."""
        task = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self._notes = None

    async def _tick(self) -> None:
        last = time.monotonic()
        while True:
            now = time.monotonic()
            self._notes = (last, now)
            last = now
            await asyncio.sleep(TICK_SECONDS)
