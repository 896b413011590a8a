"""Serialised leaderboard pages in memory, one for each season, revision and part.

A leaderboard changes at most once for each accepted match. So rows are read and serialised once for
each revision. A request then reads only the season's row.

A new official standing changes every entry, and reading a whole large leaderboard takes seconds.
Readers of a large leaderboard wait only a short time. Then they get the previous revision.
"""

from __future__ import annotations

import contextlib
import gzip
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

from cachetools import LRUCache
from starlette.responses import Response

from ladder.ids import SeasonId
from ladder.standings.board_ranking import Board
from services.http import etags

SEASONS: Final = 32
PAGES_BYTES: Final = 64 << 20
BOARDS_AT_A_TIME: Final = 2
"""Fewer than the connections for reads: other reads must not wait for large leaderboards."""
LARGE: Final = 1000
"""Least number of rows of a leaderboard whose readers do not wait until it is read."""
PATIENCE_SECONDS: Final = 0.1
"""How long readers wait at most, from the moment at which the read of a large one began."""
RECENT_SECONDS: Final = 10.0
"""Readers get a previous revision only if it was the present one at most so long ago."""


@dataclass(frozen=True, slots=True)
class BoardPage:
    """The name of a serialised page."""

    season_id: SeasonId
    revision: int
    part: str
    packed: bool
    """Whether it is gzipped."""

    @property
    def etag(self) -> str:
        return f'W/"{self.revision}.{self.part}"'

    def response(self, content: bytes | None) -> Response:
        """The answer with these bytes; 304 for None."""
        headers = {
            "ETag": self.etag,
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding, Authorization",
        }
        if content is None:
            return Response(status_code=304, headers=headers)
        if self.packed:
            headers["Content-Encoding"] = "gzip"
        return Response(content, headers=headers, media_type="application/json")


class LeaderboardCache:
    """Leaderboards and pages of this process. Drops the least recently used. Thread-safe."""

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
        self._pages: LRUCache[BoardPage, bytes] = LRUCache(PAGES_BYTES, len)

    def answer(self, page: BoardPage, if_none_match: str | None) -> Response | None:
        """The answer, if the reader has this page or it is in memory. The page's revision is the
        season's present one."""
        with self._lock:
            kept = self._boards.get(page.season_id)
            if kept is not None and kept.revision == page.revision:
                self._current_at[page.season_id] = time.monotonic()
        return self.stored(page, if_none_match)

    def stored(self, page: BoardPage, if_none_match: str | None) -> Response | None:
        """The answer with a page of any revision, if the reader has it or it is in memory."""
        if etags.matches(if_none_match, page.etag):
            return page.response(None)
        with self._lock:
            content = self._pages.get(page)
        return None if content is None else page.response(content)

    def store_page(self, page: BoardPage, plain: bytes) -> Response:
        """Stores a page, gzipped if its name says so, and returns the answer."""
        content = gzip.compress(plain, compresslevel=6) if page.packed else plain
        with (
            self._lock,
            contextlib.suppress(ValueError),
        ):  # a page larger than the cache is not stored
            self._pages[page] = content
        return page.response(content)

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
