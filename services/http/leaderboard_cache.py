"""Serialised leaderboard pages in memory, one for each season, revision and part.

A leaderboard changes at most once for each accepted match. So rows are read and serialised once for
each revision. A request then reads only the season's row.
"""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cachetools import LRUCache
from starlette.responses import Response

from ladder.ids import SeasonId
from ladder.standings.board_ranking import Board
from services.http import etags

SEASONS: Final = 32
PAGES_BYTES: Final = 64 << 20


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
        self._reading: dict[SeasonId, threading.Lock] = {}
        self._boards: LRUCache[SeasonId, Board] = LRUCache(SEASONS)
        self._pages: LRUCache[BoardPage, bytes] = LRUCache(PAGES_BYTES, len)

    def answer(self, page: BoardPage, if_none_match: str | None) -> Response | None:
        """The answer, if the reader has this page or it is in memory."""
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
        """The leaderboard at this revision or a later one. It is read once for all waiting
        threads."""
        with self._lock:
            reading = self._reading.setdefault(season_id, threading.Lock())
        with reading:
            with self._lock:
                kept = self._boards.get(season_id)
            if kept is not None and kept.revision >= revision:
                return kept
            board = self._read(season_id, kept)
            with self._lock:
                self._boards[season_id] = board
            return board
