"""Listens for database notifications, so that streams read rows only if there is news."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
import psycopg

from ladder.database import db

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
