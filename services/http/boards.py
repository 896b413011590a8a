"""Leaderboards ready to send: one serialised page per (season, revision, part), kept in memory.

A board changes at most once per accepted match and is read by everybody, so rows are read and
serialised once per revision; a reader costs one look at the season's row.
"""

from __future__ import annotations

import gzip
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from ladder.ids import SeasonId
from ladder.standings.standings import Board

SEASONS: Final = 32
PAGES_BYTES: Final = 64 << 20


class Boards:
    """Boards and pages of this process, least recently used ones dropped. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading: dict[SeasonId, threading.Lock] = {}
        self._boards: OrderedDict[SeasonId, tuple[int, Board]] = OrderedDict()
        self._pages: OrderedDict[tuple[SeasonId, int, str, bool], bytes] = OrderedDict()
        self._bytes = 0

    def page(self, season_id: SeasonId, revision: int, part: str, packed: bool) -> bytes | None:
        """The page kept under this name, plain or gzipped, if it is of this revision."""
        key = (season_id, revision, part, packed)
        with self._lock:
            found = self._pages.get(key)
            if found is not None:
                self._pages.move_to_end(key)
            return found

    def keep(
        self, season_id: SeasonId, revision: int, part: str, packed: bool, plain: bytes
    ) -> bytes:
        """Keeps a page, gzipped if ``packed``, and returns it as it is to be sent."""
        content = gzip.compress(plain, compresslevel=6) if packed else plain
        with self._lock:
            self._bytes += len(content)
            self._bytes -= len(self._pages.get((season_id, revision, part, packed), b""))
            self._pages[season_id, revision, part, packed] = content
            while self._bytes > PAGES_BYTES:
                self._bytes -= len(self._pages.popitem(last=False)[1])
        return content

    def board(self, season_id: SeasonId, revision: int, read: Callable[[], Board]) -> Board:
        """The board at this revision or a later one; ``read`` runs once for all who wait."""
        with self._lock:
            reading = self._reading.setdefault(season_id, threading.Lock())
        with reading:
            with self._lock:
                kept = self._boards.get(season_id)
            if kept is not None and kept[0] >= revision:
                return kept[1]
            board = read()
            with self._lock:
                self._boards[season_id] = (board.revision, board)
                self._boards.move_to_end(season_id)
                while len(self._boards) > SEASONS:
                    self._boards.popitem(last=False)
            return board
