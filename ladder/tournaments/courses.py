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

from ladder.database.db import Connection, fetch, fetch_one
from ladder.enums import Embargo
from ladder.ids import TournamentId
from ladder.leagues import leagues
from ladder.leagues.records import league_resource
from ladder.matches import history
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
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

GAMES: Final = """select g.match_id, g.pairing, g.game, g.entrants, g.embargo, g.outcome,
      g.is_rejudgement, m.state, m.void_cause, m.void_reason, m.finished_at,
      coalesce(array_agg(t.placement order by t.seat) filter (where m.state = 'finished'), '{}')
        as places,
      coalesce(
        array_agg(coalesce(t.reward, 0.0) order by t.seat) filter (where m.state = 'finished'),
        '{}') as rewards,
      array_agg(t.team_id order by t.seat) as team_ids
    from tournament_games g join matches m on m.id = g.match_id
    join seats t on t.match_id = g.match_id"""
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
    query = "select published from tournaments where id = %s"
    published = fetch_one(conn, dict[str, Any], query, (tournament_id,))
    return {
        parse_position(key): msgspec.convert(value, PairedRound) for key, value in published.items()
    }


def make_inputs(
    tournament: Tournament, entrants: Iterable[Entrant], published: Mapping[Position, PairedRound]
) -> TournamentInputs:
    """The inputs of a locked tournament, from all its entrants and the rounds that were paired."""
    numbered = tuple(entrant for entrant in entrants if entrant.number is not None)
    teams = defaultdict(list)
    for entrant in numbered:
        if entrant.is_reference:
            continue
        teams[entrant.team_id_at_lock].append(entrant.number or 0)
    prohibited = frozenset((a, b) for own in teams.values() for a in own for b in own if a < b)
    return TournamentInputs(
        tournament,
        numbered,
        Event(tournament.plan, len(numbered), tournament.draw_seed, prohibited),
        {
            entrant.number or 0: parse_position(entrant.last_position)
            for entrant in numbered
            if entrant.last_position is not None
        },
        published,
    )


def read_games(
    conn: Connection, tournament_id: TournamentId, pairing: str | None = None
) -> list[TournamentGame]:
    """All games of a tournament, or of one pairing, oldest first."""
    query = f"""{GAMES} where g.tournament_id = %s and (%s::text is null or g.pairing = %s)
        group by g.match_id, m.id order by g.match_id"""
    return fetch(conn, TournamentGame, query, (tournament_id, pairing, pairing))


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
    withdrawn: dict[int, Position] = {}
    while before != len(withdrawn):
        before = len(withdrawn)
        course = play(inputs.event, Progress(results, withdrawn, inputs.published))
        withdrawn = {
            entrant: last
            for entrant, last in inputs.withdrawn.items()
            if last < course.position or course.finished
        }
    return Progress(results, withdrawn, inputs.published)


def results_of(games: Iterable[TournamentGame]) -> dict[Key, list[Game]]:
    """The games that count, by pairing."""
    results: dict[Key, list[Game]] = defaultdict(list)
    for game in games:
        if game.outcome is GameOutcome.COUNTED:
            results[Key.parse(game.pairing)].append(as_result(game))
    return results


def as_result(game: TournamentGame) -> Game:
    """A finished game for the pure course."""
    return Game(game.game, game.entrants, game.places, game.rewards)


def seen_games(
    conn: Connection, viewer: Viewer, inputs: TournamentInputs, games: Sequence[TournamentGame]
) -> Sequence[TournamentGame]:
    """The games whose embargo is over for this viewer; ``games`` itself if that is each."""
    league = league_resource(leagues.get_league(conn, inputs.tournament.league_id))
    is_open = may_see(viewer, league)
    asked = [game.match_id for game in games if game.embargo is not Embargo.PUBLIC or not is_open]
    hidden = set(asked) - history.visible_ids(conn, viewer, asked)
    return [game for game in games if game.match_id not in hidden] if hidden else games


def parse_position(text: str) -> Position:
    """Reads stage and round from ``1.2``."""
    stage, _, number = text.partition(".")
    return int(stage), int(number)


def position_text(position: Position) -> str:
    """Writes stage and round as ``1.2``."""
    return f"{position[0]}.{position[1]}"


T = TypeVar("T", bound="TournamentLog | SeenCourse")
MOST: Final = 100_000
"""Games and pairings in one process, about 1 KB each."""
LOCKS: Final = 16
# The match of a game with an outcome never changes, so only the others are looked up.
DIGEST: Final = """select md5(concat((select string_agg(
            concat_ws(' ', g.match_id, g.pairing, g.outcome, g.embargo, g.is_rejudgement), ','
            order by g.match_id)
          from tournament_games g
          where g.tournament_id = t.id), ';',
        (select string_agg(concat_ws(' ', m.id, m.state), ',' order by m.id)
          from tournament_games g join matches m on m.id = g.match_id
          where g.tournament_id = t.id and g.outcome is null), ';', t.published))
    from tournaments t
    where t.id = %s"""


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
            most, lambda item: item.weight
        )

    def get_or_make(
        self, tournament_id: TournamentId, key: tuple[Hashable, ...], make: Callable[[], T]
    ) -> T:
        """What is kept for this key, or else what ``make`` returns. Threads that ask for the same
        tournament wait for each other, so it is made once."""
        item: T | None = self._find((tournament_id, *key))
        if item is None:
            with self._making[hash(tournament_id) % LOCKS]:
                item = self._find((tournament_id, *key))
                if item is None:
                    item = make()
                    with self._lock, suppress(ValueError):  # larger than the cache: not kept
                        self._kept[tournament_id, *key] = item
        return item

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
    inputs: TournamentInputs, log: TournamentLog, visible: Sequence[TournamentGame]
) -> SeenCourse:
    """The course as far as these games of the log tell it."""
    return _course(inputs, log, visible, progress_seen)


def _course(
    inputs: TournamentInputs,
    log: TournamentLog,
    games: Sequence[TournamentGame],
    progress_by: Callable[[TournamentInputs, Iterable[TournamentGame]], Progress],
) -> SeenCourse:
    def compute() -> SeenCourse:
        progress = progress_by(inputs, games)
        of_pairing: dict[str, list[TournamentGame]] = defaultdict(list)
        for game in games:
            of_pairing[game.pairing].append(game)
        return SeenCourse(inputs.event, progress, play(inputs.event, progress), dict(of_pairing))

    digest = b""
    if games is not log.games:
        digest = hashlib.sha256("".join(game.match_id for game in games).encode()).digest()
    withdrawn = tuple(sorted(inputs.withdrawn.items()))
    key = (progress_by.__name__, log.digest, digest, inputs.event.seed, withdrawn)
    return _cache.get_or_make(inputs.tournament.id, key, compute)


def _digest(conn: Connection, tournament_id: TournamentId) -> str:
    return fetch_one(conn, str, DIGEST, (tournament_id,))
