"""Reads the heads of boards for many requests with one query.

A request shares a query only if the query began after the request arrived. So the answer is as new
as that of a query of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import psycopg

from ladder.database import db
from ladder.standings.leaderboard import BoardHead, head_of_row, head_query

QUERY_SECONDS: Final = 5.0


class SharedHeads:
    """One connection of this process for heads of boards. For the event loop alone."""

    def __init__(self) -> None:
        self._url = ""
        self._conn: psycopg.AsyncConnection[Any] | None = None
        self._turn = asyncio.Lock()
        self._next: dict[str, asyncio.Task[BoardHead | None]] = {}

    @asynccontextmanager
    async def reading(self, url: str) -> AsyncIterator[None]:
        """Reads from this database inside the block; elsewhere ``head`` returns None."""
        self._url = url
        try:
            yield
        finally:
            self._url = ""
            await self._disconnect()

    async def head(self, key: str) -> BoardHead | None:
        """The head for a season id or a league's slug, read after this call.

        None: there is no such season, or the database did not answer.
        """
        if key not in self._next:
            self._next[key] = asyncio.create_task(self._read_in_turn(key))
        return await asyncio.shield(self._next[key])

    async def _read_in_turn(self, key: str) -> BoardHead | None:
        async with self._turn:
            del self._next[key]  # a request from now on needs a later query
            if not self._url:
                return None
            try:
                async with asyncio.timeout(QUERY_SECONDS):
                    return await self._read(key)
            except (psycopg.Error, TimeoutError):
                await self._disconnect()
                return None

    async def _read(self, key: str) -> BoardHead | None:
        if self._conn is None:
            self._conn = await psycopg.AsyncConnection.connect(
                self._url, autocommit=True, connect_timeout=db.CONNECT_SECONDS
            )
        found = await self._conn.execute(head_query(key), (key,))
        return head_of_row(await found.fetchone())

    async def _disconnect(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            with suppress(psycopg.Error):
                await conn.close()
