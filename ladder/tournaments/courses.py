"""Reads a tournament's games and computes its course from them.

The course is a pure function of the plan, the entrants, the seed, the games that count and the
withdrawals. A viewer's course uses only the games that this viewer may see. So nothing in it can
depend on a hidden result.

The games and the computed courses of tournaments are kept in the memory of this process. A kept
course belongs to a digest of the tournament's log and to the games it was computed from. So it
never depends on who asked for it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as made_by
from typing import Any, Final, TypeVar

import msgspec
from cachetools import LRUCache
from psycopg.rows import dict_row

from ladder.database.db import Connection
from ladder.enums import Embargo, MatchKind, VoidCause
from ladder.ids import MatchId, TeamId, TournamentId
from ladder.leagues import leagues
from ladder.leagues.records import league_resource
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
from ladder.people.resources import MatchResource
from ladder.tournaments.entrants import entrants_of
from ladder.tournaments.formats.course import play, standings
from ladder.tournaments.formats.records import (
    Course,
    Event,
    Game,
    Key,
    PairedRound,
    Progress,
    Standing,
)
from ladder.tournaments.records import Entrant, GameOutcome, Tournament, TournamentGame

GAMES: Final = (
    "select g.match_id, g.pairing, g.game, g.entrants, g.embargo, g.outcome, g.is_rejudgement,"
    " m.state, m.void_cause, m.void_reason, m.finished_at,"
    " array_agg(t.placement order by t.seat) as places, array_agg(t.reward order by t.seat)"
    " as rewards, array_agg(t.team_id order by t.seat) as team_ids"
    " from tournament_games g join matches m on m.id = g.match_id"
    " join seats t on t.match_id = g.match_id"
)
Position = tuple[int, int]


@dataclass(frozen=True)
class TournamentInputs:
    """All inputs of a tournament's course except the results."""

    tournament: Tournament
    entrants: tuple[Entrant, ...]
    """Entrants with a number, in order of it."""
    event: Event
    withdrawn: dict[int, Position]
    published: Mapping[Position, PairedRound]


def read_inputs(conn: Connection, tournament: Tournament) -> TournamentInputs:
    """Reads the entrants of a locked tournament and the rounds that were paired."""
    return make_inputs(
        tournament, entrants_of(conn, tournament.id), read_published(conn, tournament.id)
    )


def read_published(conn: Connection, tournament_id: TournamentId) -> dict[Position, PairedRound]:
    """Reads the rounds of a tournament as they were paired."""
    row = conn.execute(
        "select published from tournaments where id = %s", (tournament_id,)
    ).fetchone()
    assert row is not None
    return {
        parse_position(key): msgspec.convert(value, PairedRound) for key, value in row[0].items()
    }


def make_inputs(
    tournament: Tournament, entrants: Iterable[Entrant], published: Mapping[Position, PairedRound]
) -> TournamentInputs:
    """The inputs of a locked tournament, from all its entrants and the rounds that were paired."""
    numbered = tuple(one for one in entrants if one.number is not None)
    teams = defaultdict(list)
    for one in numbered:
        if one.is_reference:
            continue
        teams[one.team_id_at_lock].append(one.number or 0)
    prohibited = frozenset((a, b) for own in teams.values() for a in own for b in own if a < b)
    return TournamentInputs(
        tournament,
        numbered,
        Event(tournament.plan, len(numbered), tournament.draw_seed, prohibited),
        {
            one.number or 0: parse_position(one.last_position)
            for one in numbered
            if one.last_position is not None
        },
        published,
    )


def read_games(
    conn: Connection, tournament_id: TournamentId, pairing: str | None = None
) -> list[TournamentGame]:
    """All games of a tournament, or of one pairing, oldest first."""
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            f"{GAMES} where g.tournament_id = %s and (%s::text is null or g.pairing = %s)"
            " group by g.match_id, m.id order by g.match_id",
            (tournament_id, pairing, pairing),
        )
        return [_game(row) for row in rows]


def progress_of(inputs: TournamentInputs, games: Iterable[TournamentGame]) -> Progress:
    """What happened so far, by the games that count."""
    return Progress(results_of(games), inputs.withdrawn, inputs.published)


def compute(inputs: TournamentInputs, games: Iterable[TournamentGame]) -> Course:
    """The course by the games that count."""
    return play(inputs.event, progress_of(inputs, games))


def progress_seen(inputs: TournamentInputs, games: Iterable[TournamentGame]) -> Progress:
    """What a viewer may know of what happened, who may see these games.

    A withdrawal counts only once the viewer may know the round in which it happened. Else hidden
    games of that round would seem to be walk-overs.
    """
    results = results_of(games)
    before: int | None = None
    known: dict[int, Position] = {}
    while before != len(known):
        before = len(known)
        course = play(inputs.event, Progress(results, known, inputs.published))
        known = {
            entrant: last
            for entrant, last in inputs.withdrawn.items()
            if last < course.position or course.finished
        }
    return Progress(results, known, inputs.published)


def results_of(games: Iterable[TournamentGame]) -> dict[Key, list[Game]]:
    """The games that count, by pairing."""
    results: dict[Key, list[Game]] = defaultdict(list)
    for one in games:
        if one.outcome is GameOutcome.COUNTED:
            results[Key.parse(one.pairing)].append(as_result(one))
    return results


def as_result(one: TournamentGame) -> Game:
    """A finished game for the pure course."""
    return Game(one.game, one.entrants, one.places, one.rewards)


def seen_games(
    conn: Connection, viewer: Viewer, inputs: TournamentInputs, games: Sequence[TournamentGame]
) -> Sequence[TournamentGame]:
    """The games whose embargo is over for this viewer; ``games`` itself if that is each."""
    league = league_resource(leagues.get_league(conn, inputs.tournament.league_id))
    everybody = frozenset(one.team_id for one in inputs.entrants)
    known: dict[tuple[Embargo, frozenset[TeamId]], bool] = {}

    def sees(one: TournamentGame) -> bool:
        key = one.embargo, one.team_ids
        if key not in known:
            known[key] = may_see(
                viewer,
                MatchResource(
                    MatchKind.TOURNAMENT,
                    league,
                    one.team_ids,
                    embargo=one.embargo,
                    entrant_team_ids=everybody,
                ),
            )
        return known[key]

    seen = [one for one in games if sees(one)]
    return games if len(seen) == len(games) else seen


def parse_position(text: str) -> Position:
    """Reads stage and round from ``1.2``."""
    stage, _, number = text.partition(".")
    return int(stage), int(number)


def position_text(position: Position) -> str:
    """Writes stage and round as ``1.2``."""
    return f"{position[0]}.{position[1]}"


def _game(row: dict[str, Any]) -> TournamentGame:
    is_finished = row["state"] == "finished"
    return TournamentGame(
        match_id=MatchId(row["match_id"]),
        pairing=row["pairing"],
        game=row["game"],
        entrants=tuple(row["entrants"]),
        embargo=Embargo(row["embargo"]),
        outcome=None if row["outcome"] is None else GameOutcome(row["outcome"]),
        is_rejudgement=row["is_rejudgement"],
        state=row["state"],
        void_cause=None if row["void_cause"] is None else VoidCause(row["void_cause"]),
        void_reason=row["void_reason"],
        places=tuple(row["places"]) if is_finished else (),
        rewards=tuple(reward or 0.0 for reward in row["rewards"]) if is_finished else (),
        team_ids=frozenset(row["team_ids"]),
        finished_at=row["finished_at"],
    )


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
            tuple(read_games(conn, tournament_id)),
            read_published(conn, tournament_id),
        )

    return _cache.get_or_make(tournament_id, ("log", digest), read)


def course_of_log(inputs: TournamentInputs, log: TournamentLog) -> SeenCourse:
    """The course by all games."""
    return _course(inputs, log, log.games, progress_of)


def course_of_games(
    inputs: TournamentInputs, log: TournamentLog, seen: Sequence[TournamentGame]
) -> SeenCourse:
    """The course as far as these games of the log tell it."""
    return _course(inputs, log, seen, progress_seen)


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
