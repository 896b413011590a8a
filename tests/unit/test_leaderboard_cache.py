"""The leaderboards in memory, while new revisions are read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from ladder.ids import AgentId, EntryId, SeasonId, TeamId
from ladder.standings.board_ranking import Board, BoardOrder, BoardRows
from ladder.standings.board_records import BoardEntry, MedalTerms
from services.http import leaderboard_cache
from services.http.leaderboard_cache import LARGE, BoardRequest, LeaderboardCache
from tests.waiting import wait_until

SEASON = SeasonId("sea_1")
TERMS = MedalTerms()


def board_of(entries: int, revision: int) -> Board:
    made = (
        BoardEntry(
            *(EntryId(f"ent_{n}"), AgentId(f"age_{n}"), "agent", TeamId(f"tea_{n}"), "team"),
            *(600.0 + n, 40.0, 10, None, False),
        )
        for n in range(entries)
    )
    return Board(SEASON, revision, 0, None, BoardRows(BoardOrder(0.0).filled(made), TERMS), TERMS)


class SlowReads:
    """Reads the first revision at once; each later one waits until it may end."""

    def __init__(self, entries: int) -> None:
        self.entries, self.revision, self.count = entries, 1, 0
        self.may_end = threading.Event()

    def read(self, season: SeasonId, before: Board | None) -> Board:
        self.count += 1
        found = board_of(self.entries, self.revision)
        if before is not None:
            assert self.may_end.wait(60)
        return found

    @contextmanager
    def reading(self, cache: LeaderboardCache) -> Iterator[None]:
        """Begins the read of the second revision; it ends with the block."""
        cache.board(SEASON, 1)
        self.revision = 2
        try:
            yield
        finally:
            self.may_end.set()


def test_readers_of_a_large_leaderboard_get_the_revision_before_a_slow_read() -> None:
    reads = SlowReads(LARGE)
    cache = LeaderboardCache(reads.read)
    with reads.reading(cache):
        assert [cache.board(SEASON, 2).revision for _ in range(3)] == [1, 1, 1]
        assert reads.count == 2
    wait_until(lambda: cache.board(SEASON, 2).revision == 2, "the second revision")
    assert reads.count == 2


def test_readers_wait_if_the_previous_revision_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard_cache, "RECENT_SECONDS", -1.0)
    reads = SlowReads(LARGE)
    cache = LeaderboardCache(reads.read)
    with ThreadPoolExecutor(1) as pool:
        with reads.reading(cache):
            waiting = pool.submit(cache.board, SEASON, 2)
            with pytest.raises(TimeoutError):
                waiting.result(0.3)
        assert waiting.result().revision == 2


def test_readers_of_a_small_leaderboard_wait_for_the_new_revision() -> None:
    reads = SlowReads(3)
    cache = LeaderboardCache(reads.read)
    with ThreadPoolExecutor(2) as pool:
        with reads.reading(cache):
            waiting = [pool.submit(cache.board, SEASON, 2) for _ in range(2)]
            assert not any(each.done() for each in waiting)
        assert [each.result().revision for each in waiting] == [2, 2]
    assert reads.count == 2


def test_a_failed_read_is_raised_and_the_next_reader_reads_again() -> None:
    fails = [True]

    def read(season: SeasonId, before: Board | None) -> Board:
        if fails.pop() if fails else False:
            raise OSError("no database")
        return board_of(3, 1)

    cache = LeaderboardCache(read)
    with pytest.raises(OSError, match="no database"):
        cache.board(SEASON, 1)
    assert cache.board(SEASON, 1).revision == 1


def test_another_spelling_of_a_query_gets_the_answer_in_memory() -> None:
    cache = LeaderboardCache(lambda season, before: board_of(1, 1))
    board = cache.board(SEASON, 1)
    made: list[bytes] = []

    def make() -> bytes:
        made.append(b"[]")
        return made[0]

    for query in (b"limit=1", b"limit=1&x=1", b"x=" + b"1" * 300):
        request = BoardRequest(query, packed=False, if_none_match="", route=None)
        answer = cache.make_answer(board, request, "0.1", make)
        assert answer.content == b"[]"
    assert len(made) == 1
