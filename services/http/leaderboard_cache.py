"""The leaderboards of this process, by season and revision: the rows, and answers ready to send.

A leaderboard changes at most once for each accepted match. So rows are read and serialised once for
each revision. A request without a token then needs only the season's head, which says the present
revision; it is answered before routes and threads. Measured at 10,000 entries: 0.9 ms of the
server for a read (``python -m benchmarks api``).

A new official standing changes every entry. Reading the rows again takes 0.5 s at 10,000 entries.
So readers of a large leaderboard wait 0.1 s. Then they get the previous revision.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from cachetools import LRUCache
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from ladder.database import db
from ladder.field_types import KEY
from ladder.ids import SeasonId
from ladder.people.permissions import may_see
from ladder.people.records import STRANGER
from ladder.standings.board_ranking import Board
from ladder.standings.leaderboard import BoardHead, head_of_row, head_query
from services.http import etags

SEASONS: Final = 32
ANSWERS_BYTES: Final = 64 << 20
LONGEST_QUERY: Final = 200
QUERIES: Final = 1024
"""Spellings of queries whose part of a leaderboard is known."""
BOARDS_AT_A_TIME: Final = 2
"""Fewer than the connections for reads: other reads must not wait for large leaderboards."""
LARGE: Final = 1000
"""Least number of rows of a leaderboard whose readers do not wait until it is read."""
PATIENCE_SECONDS: Final = 0.1
"""How long readers wait at most, from the moment at which the read of a large one began."""
RECENT_SECONDS: Final = 10.0
"""Readers get a previous revision only if it was the present one at most so long ago."""
HEAD_SECONDS: Final = 5.0
ADDRESS: Final = re.compile(rf"/v1/seasons/({KEY[1:-1]})/leaderboard")


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """What a request asks for, beside the season."""

    query: bytes
    packed: bool
    """Whether its reader takes gzip."""
    if_none_match: str
    route: BaseRoute | None
    """None: no route has been asked yet."""

    @classmethod
    def of(cls, scope: Scope) -> BoardRequest:
        headers = Request(scope).headers
        packed = "gzip" in headers.get("accept-encoding", "")
        tag = headers.get("if-none-match", "")
        return cls(scope["query_string"], packed, tag, scope.get("route"))


@dataclass(frozen=True, slots=True)
class BoardAnswer:
    """Serialised rows of a leaderboard, gzipped if ``packed``."""

    etag: str
    content: bytes
    packed: bool

    def response(self, request: BoardRequest) -> Response:
        headers = {
            "ETag": self.etag,
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding, Authorization",
        }
        if etags.matches(request.if_none_match, self.etag):
            return Response(status_code=304, headers=headers)
        if self.packed:
            headers["Content-Encoding"] = "gzip"
        return Response(self.content, headers=headers, media_type="application/json")


def etag_of(revision: int, part: str) -> str:
    """The ETag of a part of a leaderboard."""
    return f'W/"{revision}.{part}"'


class LeaderboardCache:
    """Leaderboards and answers of this process. Drops the least recently used. Thread-safe."""

    def __init__(self, read: Callable[[SeasonId, Board | None], Board]) -> None:
        """``read`` returns the present leaderboard of a season; it gets the one in memory."""
        self._read = read
        self._lock = threading.Lock()
        self._readers = ThreadPoolExecutor(BOARDS_AT_A_TIME, "leaderboards")
        self._reading: dict[SeasonId, tuple[float, Future[Board]]] = {}
        """When the read under way began, and its result."""
        self._boards: LRUCache[SeasonId, Board] = LRUCache(SEASONS)
        self._current_at: dict[SeasonId, float] = {}
        """When the kept leaderboard was last known to be the present one."""
        self._answers: LRUCache[tuple[SeasonId, int, str, bool], BoardAnswer] = LRUCache(
            ANSWERS_BYTES, lambda answer: len(answer.content)
        )
        """By season, revision and part, so that another spelling of a query makes no answer."""
        self._parts: LRUCache[bytes, str] = LRUCache(QUERIES)
        """Which part of a leaderboard a query asks for."""
        self.heads = BoardHeads()
        self._route: BaseRoute | None = None

    async def quick_answer(self, scope: Scope, season: str) -> Response | None:
        """The answer from memory to a request without a token; None if the route must answer."""
        if any(name == b"authorization" for name, _ in scope["headers"]):
            return None
        request = BoardRequest.of(scope)
        if len(request.if_none_match) > etags.LONGEST:
            return None  # the route refuses it
        with self._lock:
            part = self._parts.get(request.query)
        if part is None:
            return None
        head = await self.heads.head(season)
        if head is None or not may_see(STRANGER, head.league):
            return None
        answer = self.present_answer(head, part, request)
        if answer is None:
            return None
        scope["route"] = self._route  # for the metrics
        return answer.response(request)

    def present_answer(
        self, head: BoardHead, part: str, request: BoardRequest
    ) -> BoardAnswer | None:
        """The answer of the present revision, if it is in memory or its reader has it."""
        with self._lock:
            kept = self._boards.get(head.season_id)
            if kept is not None and kept.revision == head.revision:
                self._current_at[head.season_id] = time.monotonic()
            etag = etag_of(head.revision, part)
            if etags.matches(request.if_none_match, etag):
                return BoardAnswer(etag, b"", packed=False)
            return self._answers.get((head.season_id, head.revision, part, request.packed))

    def make_answer(
        self,
        board: Board,
        request: BoardRequest,
        part: str,
        make: Callable[[], bytes],
    ) -> BoardAnswer:
        """The answer with this part of a leaderboard, from memory or as ``make`` serialises it."""
        key = board.season_id, board.revision, part, request.packed
        with self._lock:
            self._route = request.route
            if len(request.query) <= LONGEST_QUERY:
                self._parts[request.query] = part
            answer = self._answers.get(key)
        if answer is not None:
            return answer
        plain = make()
        content = gzip.compress(plain, compresslevel=6) if request.packed else plain
        answer = BoardAnswer(etag_of(board.revision, part), content, request.packed)
        # One that is larger than the cache is not stored.
        with self._lock, contextlib.suppress(ValueError):
            self._answers[key] = answer
        return answer

    def board(self, season_id: SeasonId, revision: int) -> Board:
        """The leaderboard at ``revision``, the present one of the season, or at a later one.

        A large leaderboard may have an earlier revision, which was the present one at most
        RECENT_SECONDS ago. One read serves all waiting threads. Raises what the read raises.
        """
        while True:
            with self._lock:
                kept = self._boards.get(season_id)
                if kept is not None and kept.revision >= revision:
                    self._current_at[season_id] = time.monotonic()
                    return kept
                joined = season_id in self._reading
                if not joined:
                    read = self._readers.submit(self._read_and_keep, season_id, kept)
                    self._reading[season_id] = time.monotonic(), read
                began_at, read = self._reading[season_id]
                current_at = self._current_at.get(season_id, -RECENT_SECONDS)
            is_recent = time.monotonic() - current_at <= RECENT_SECONDS
            if kept is not None and len(kept.rows) >= LARGE and is_recent:
                wait([read], max(0.0, began_at + PATIENCE_SECONDS - time.monotonic()))
                if not read.done():
                    return kept
            board = read.result()
            if board.revision >= revision or not joined:
                return board

    def _read_and_keep(self, season_id: SeasonId, kept: Board | None) -> Board:
        try:
            board = self._read(season_id, kept)
            with self._lock:
                self._boards[season_id] = board
                self._current_at[season_id] = time.monotonic()
            return board
        finally:
            with self._lock:
                del self._reading[season_id]


class BoardHeads:
    """Reads the heads of boards for many requests with one query. For the event loop alone.

    A request shares a query only if the query began after the request arrived. So the answer is as
    new as that of a query of its own.
    """

    def __init__(self) -> None:
        self._url = ""
        self._conn: psycopg.AsyncConnection[Any] | None = None
        self._turn = asyncio.Lock()
        self._next: dict[str, asyncio.Task[BoardHead | None]] = {}

    @contextlib.asynccontextmanager
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
                async with asyncio.timeout(HEAD_SECONDS):
                    if self._conn is None:
                        self._conn = await psycopg.AsyncConnection.connect(
                            self._url, autocommit=True, connect_timeout=db.CONNECT_SECONDS
                        )
                    row = await self._conn.execute(head_query(key), (key,))
                    return head_of_row(await row.fetchone())
            except (psycopg.Error, TimeoutError):
                await self._disconnect()
                return None

    async def _disconnect(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            with contextlib.suppress(psycopg.Error):
                await conn.close()


class QuickBoardAnswers:
    """ASGI middleware that sends answers from memory."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = None
        if scope["type"] == "http" and scope["method"] == "GET":
            address = ADDRESS.fullmatch(scope["path"])
            if address is not None:
                answer = await scope["app"].state.peck.boards.quick_answer(scope, address[1])
        await (answer or self.app)(scope, receive, send)
