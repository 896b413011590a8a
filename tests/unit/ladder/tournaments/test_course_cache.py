"""The memory of courses: made once, bounded, shared by threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ladder.ids import TournamentId
from ladder.tournaments.courses import CourseCache, TournamentLog

CUP = TournamentId("trn_1")


def test_threads_that_ask_for_one_log_share_it() -> None:
    cache = CourseCache()
    made = []

    def make() -> TournamentLog:
        made.append(TournamentLog("", (), {}))
        return made[-1]

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: cache.get_or_make(CUP, ("log",), make), range(64)))
    assert len(made) == 1
    assert all(one is made[0] for one in found)


def test_the_least_recently_used_log_is_dropped() -> None:
    cache = CourseCache(most=2)
    logs = {name: TournamentLog(name, (), {}) for name in "abc"}
    for name in "abac":
        cache.get_or_make(CUP, (name,), lambda name=name: logs[name])  # type: ignore[misc]
    again = TournamentLog("again", (), {})
    assert cache.get_or_make(CUP, ("a",), lambda: again) is logs["a"]
    assert cache.get_or_make(CUP, ("b",), lambda: again) is again
