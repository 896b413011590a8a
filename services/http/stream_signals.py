"""Tells open streams that this process was asked to stop, and when there is news to read."""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Final

import anyio
import psycopg

from ladder.database import db

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Ending:
    """Whether this process was asked to stop. For the event loop, except ``noticing_signals``.

    A server that stops waits for its open answers. Streams last for minutes, so they end on this
    sign.
    """

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


CHANNEL: Final = "peck_news"
AGAIN_SECONDS: Final = 1.0


class NotificationListener:
    """One listening connection of this process, and the time of its last notification."""

    def __init__(self) -> None:
        self._heard_at = -math.inf
        self._listens = False

    def quiet_seconds(self) -> float:
        """Seconds without a notification; 0 while it cannot listen."""
        return time.monotonic() - self._heard_at if self._listens else 0.0

    @asynccontextmanager
    async def listening(self, url: str) -> AsyncIterator[None]:
        """Listens in the background inside this block. Survives restarts of Postgres."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run, url)
            yield
            tasks.cancel_scope.cancel()

    async def _run(self, url: str) -> None:
        while True:
            try:
                await self._listen(url)
            except psycopg.Error:
                await anyio.sleep(AGAIN_SECONDS)
            finally:
                self._listens = False

    async def _listen(self, url: str) -> None:
        conn = await psycopg.AsyncConnection.connect(
            url, autocommit=True, connect_timeout=db.CONNECT_SECONDS
        )
        try:  # not "async with conn": if cancelled twice, that leaves the connection open
            await conn.execute(f"listen {CHANNEL}")
            self._heard_at, self._listens = time.monotonic(), True
            async for _ in conn.notifies():
                self._heard_at = time.monotonic()
        finally:
            await conn.close()
