"""Tells open streams that this process was asked to stop.

A server that stops waits for its open answers. Streams last for minutes, so they end on this sign.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Ending:
    """Whether this process was asked to stop. For the event loop, except ``noticing_signals``."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        """``wake`` is called once, when the end begins."""
        self._wake = wake
        self._begun = asyncio.Event()

    @property
    def has_begun(self) -> bool:
        return self._begun.is_set()

    def begin(self) -> None:
        """Ends the streams."""
        if not self.has_begun:
            self._begun.set()
            self._wake()

    async def pause(self, seconds: float) -> None:
        """Waits so long, or until the end begins."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._begun.wait()

    @contextlib.contextmanager
    def noticing_signals(self) -> Iterator[None]:
        """Begins at the signals that stop a server. The server's own handler runs as before.

        Does nothing outside the main thread, which alone gets signals.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()

        def notice(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.begin)
            earlier = before[number]
            if callable(earlier):
                earlier(number, frame)
            elif earlier is signal.SIG_DFL:
                signal.signal(number, earlier)
                signal.raise_signal(number)

        before = {int(one): signal.signal(one, notice) for one in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                if signal.getsignal(number) is notice:
                    signal.signal(number, handler)
