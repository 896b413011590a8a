"""Serialised leaderboard pages in memory, one for each season, revision and part.

A leaderboard changes at most once for each accepted match. So rows are read and serialised once for
each revision. A request then reads only the season's row.
"""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Callable
from typing import Final

from cachetools import LRUCache

from ladder.ids import SeasonId
from ladder.standings.board_ranking import Board

SEASONS: Final = 32
PAGES_BYTES: Final = 64 << 20


class LeaderboardCache:
    """Leaderboards and pages of this process. Drops the least recently used. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading: dict[SeasonId, threading.Lock] = {}
        self._boards: LRUCache[SeasonId, Board] = LRUCache(SEASONS)
        self._pages: LRUCache[tuple[SeasonId, int, str, bool], bytes] = LRUCache(PAGES_BYTES, len)

    def page(self, season_id: SeasonId, revision: int, part: str, packed: bool) -> bytes | None:
        """The stored page of this name, plain or gzipped, if it is of this revision."""
        with self._lock:
            return self._pages.get((season_id, revision, part, packed))

    def store_page(
        self, season_id: SeasonId, revision: int, part: str, packed: bool, plain: bytes
    ) -> bytes:
        """Stores a page, gzipped if ``packed``, and returns the bytes to send."""
        content = gzip.compress(plain, compresslevel=6) if packed else plain
        with (
            self._lock,
            contextlib.suppress(ValueError),
        ):  # a page larger than the cache is not stored
            self._pages[season_id, revision, part, packed] = content
        return content

    def board(self, season_id: SeasonId, revision: int, read: Callable[[], Board]) -> Board:
        """The leaderboard at this revision or a later one. ``read`` runs once for all waiting
        threads."""
        with self._lock:
            reading = self._reading.setdefault(season_id, threading.Lock())
        with reading:
            with self._lock:
                kept = self._boards.get(season_id)
            if kept is not None and kept.revision >= revision:
                return kept
            board = read()
            with self._lock:
                self._boards[season_id] = board
            return board
