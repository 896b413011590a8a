"""Keeps the games and the computed courses of tournaments in the memory of this process.

A kept course belongs to a digest of the tournament's log and to the games it was computed from. So
it never depends on who asked for it, and a viewer gets only a course of games that the viewer may
see.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as made_by
from typing import Final, TypeVar

from cachetools import LRUCache

from ladder.database.db import Connection
from ladder.ids import TournamentId
from ladder.tournaments import courses
from ladder.tournaments.courses import Position, TournamentInputs
from ladder.tournaments.formats import (
    Course,
    Event,
    PairedRound,
    Progress,
    Standing,
    play,
    standings,
)
from ladder.tournaments.records import TournamentGame

T = TypeVar("T", bound="TournamentLog | SeenCourse")
MOST: Final = 100_000
"""Games and pairings in one process, about 1 KB each."""
LOCKS: Final = 16
# The match of a game with an outcome never changes, so only the others are looked up.
DIGEST: Final = (
    "select md5(concat((select string_agg(concat_ws(' ', g.match_id, g.pairing, g.outcome,"
    "   g.embargo, g.is_rejudgement), ',' order by g.match_id)"
    "   from tournament_games g where g.tournament_id = t.id), ';',"
    " (select string_agg(concat_ws(' ', m.id, m.state), ',' order by m.id)"
    "   from tournament_games g join matches m on m.id = g.match_id"
    "   where g.tournament_id = t.id and g.outcome is null), ';', t.published))"
    " from tournaments t where t.id = %s"
)


@dataclass(frozen=True)
class TournamentLog:
    """All games and paired rounds of a tournament. Threads share it, so never change it."""

    digest: str
    games: tuple[TournamentGame, ...]
    """Oldest first."""
    published: Mapping[Position, PairedRound]

    @property
    def weight(self) -> int:
        return 1 + len(self.games)


@dataclass(frozen=True)
class SeenCourse:
    """The course by some games. Threads share it, so never change it."""

    event: Event
    progress: Progress
    course: Course
    games: Mapping[str, Sequence[TournamentGame]]
    """By pairing."""
    _tables: dict[int, list[Standing]] = made_by(default_factory=dict)

    @property
    def weight(self) -> int:
        return 1 + len(self.course.pairings) + len(self.games)

    def standings(self, stage: int) -> list[Standing]:
        """The table of a stage that has begun. It is computed once."""
        if stage not in self._tables:
            self._tables[stage] = standings(self.event, self.progress, self.course, stage)
        return self._tables[stage]


class CourseCache:
    """Logs and courses. Drops the least recently used. Thread-safe."""

    def __init__(self, most: int = MOST) -> None:
        self._lock = threading.Lock()
        self._making = [threading.Lock() for _ in range(LOCKS)]
        self._kept: LRUCache[Hashable, TournamentLog | SeenCourse] = LRUCache(
            most, lambda one: one.weight
        )

    def get_or_make(
        self, tournament_id: TournamentId, key: tuple[Hashable, ...], make: Callable[[], T]
    ) -> T:
        """What is kept for this key, or else what ``make`` returns. Threads that ask for the same
        tournament wait for each other, so it is made once."""
        found: T | None = self._find((tournament_id, *key))
        if found is None:
            with self._making[hash(tournament_id) % LOCKS]:
                found = self._find((tournament_id, *key))
                if found is None:
                    found = make()
                    with self._lock, suppress(ValueError):  # larger than the cache: not kept
                        self._kept[tournament_id, *key] = found
        return found

    def _find(self, key: tuple[Hashable, ...]) -> T | None:
        with self._lock:
            return self._kept.get(key)  # type: ignore[return-value]  # a key has one kind


_cache: Final = CourseCache()


def read_log(conn: Connection, tournament_id: TournamentId) -> TournamentLog:
    """Games and paired rounds of a tournament, kept until one of them changes."""
    digest = _digest(conn, tournament_id)

    def read() -> TournamentLog:
        return TournamentLog(
            digest,
            tuple(courses.read_games(conn, tournament_id)),
            courses.read_published(conn, tournament_id),
        )

    return _cache.get_or_make(tournament_id, ("log", digest), read)


def course_of_log(inputs: TournamentInputs, log: TournamentLog) -> SeenCourse:
    """The course by all games."""
    return _course(inputs, log, log.games, courses.progress_of)


def course_of_games(
    inputs: TournamentInputs, log: TournamentLog, seen: Sequence[TournamentGame]
) -> SeenCourse:
    """The course as far as these games of the log tell it."""
    return _course(inputs, log, seen, courses.progress_seen)


def _course(
    inputs: TournamentInputs,
    log: TournamentLog,
    games: Sequence[TournamentGame],
    progress_by: Callable[[TournamentInputs, Iterable[TournamentGame]], Progress],
) -> SeenCourse:
    def compute() -> SeenCourse:
        progress = progress_by(inputs, games)
        of_pairing: dict[str, list[TournamentGame]] = defaultdict(list)
        for one in games:
            of_pairing[one.pairing].append(one)
        return SeenCourse(inputs.event, progress, play(inputs.event, progress), dict(of_pairing))

    which = b""
    if games is not log.games:
        which = hashlib.sha256("".join(one.match_id for one in games).encode()).digest()
    withdrawn = tuple(sorted(inputs.withdrawn.items()))
    key = (progress_by.__name__, log.digest, which, inputs.event.seed, withdrawn)
    return _cache.get_or_make(inputs.tournament.id, key, compute)


def _digest(conn: Connection, tournament_id: TournamentId) -> str:
    row = conn.execute(DIGEST, (tournament_id,)).fetchone()
    assert row is not None
    return str(row[0])
