"""What one viewer may know of a tournament."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ladder.database.db import Connection
from ladder.enums import Embargo
from ladder.ids import TournamentId
from ladder.leagues import leagues
from ladder.leagues.records import League, league_resource
from ladder.matches.durations import UsualSeconds
from ladder.matches.workers import live_workers
from ladder.people.permissions import may_manage
from ladder.people.records import Viewer
from ladder.tournaments import course_cache, courses
from ladder.tournaments.course_cache import SeenCourse, TournamentLog
from ladder.tournaments.courses import TournamentInputs, position_text
from ladder.tournaments.entrants import entrants_of
from ladder.tournaments.formats import Course, Pairing, Progress, Standing, State
from ladder.tournaments.records import (
    Entrant,
    Tournament,
    TournamentGame,
    TournamentState,
    no_champion,
)

usual: Final = UsualSeconds()
NAMED: Final = re.compile(r"\{(\d+)\}")
"""An entrant in the reason of a pairing."""


@dataclass(frozen=True)
class RoundTimes:
    """Times of a round. Those that the scheduler wrote are hidden while results are."""

    started_at: datetime
    deadline_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True)
class TournamentView:
    """A tournament as one viewer sees it: the course by the games that the viewer may see."""

    tournament: Tournament
    league: League
    state: TournamentState
    """As shown: a finished tournament runs on while its end is hidden."""
    entrants: tuple[Entrant, ...]
    inputs: TournamentInputs | None
    """None before the lock."""
    seen: SeenCourse | None
    """The course by the games that the viewer may see; None before the lock."""
    sees_all: bool
    """Whether no match of it is hidden from the viewer."""
    is_host: bool
    rounds: dict[str, RoundTimes]
    eta_seconds: float | None
    """Until the round that is played is over, by the usual duration of the season's matches."""

    def entrant(self, number: int) -> Entrant:
        """The entrant with this number."""
        assert self.inputs is not None
        return self.inputs.entrants[number - 1]

    def name(self, number: int | None) -> str:
        """The agent's name, or ``?`` while nobody is known."""
        return "?" if number is None else self.entrant(number).agent_name

    def reason(self, pairing: Pairing) -> str:
        """Why these agents meet, or what decides whether they do, with their names."""
        return NAMED.sub(lambda found: self.name(int(found[1])), pairing.reason)

    def standings(self, stage: int) -> list[Standing]:
        """The table of a stage that has begun."""
        assert self.seen is not None
        return self.seen.standings(stage)

    @property
    def course(self) -> Course | None:
        return self.seen.course if self.seen else None

    @property
    def progress(self) -> Progress | None:
        return self.seen.progress if self.seen else None

    @property
    def games(self) -> Mapping[str, Sequence[TournamentGame]]:
        """Visible games by pairing."""
        return self.seen.games if self.seen else {}

    @property
    def champion(self) -> Entrant | None:
        if self.course is None or self.course.champion is None:
            return None
        return self.entrant(self.course.champion)

    @property
    def no_champion(self) -> str | None:
        """Why it ended without a champion, as far as the viewer may know."""
        return no_champion(self.state, self.champion)

    @property
    def drawn_behind(self) -> tuple[Entrant, ...]:
        """The other agents with the best reward; the draw put the champion before them."""
        drawn = self.course.drawn_winners if self.course else ()
        return tuple(self.entrant(number) for number in drawn[1:])

    @property
    def seed_hex(self) -> str | None:
        """The seed of the draw, once the tournament is over for the viewer."""
        return self.tournament.draw_seed.hex() if self.state.is_over else None

    @property
    def problem(self) -> str | None:
        """Why the round cannot go on; only hosts read it."""
        return self.tournament.problem if self.is_host else None

    @property
    def position(self) -> str:
        """The round that is played, as far as the viewer may know."""
        return position_text(self.course.position) if self.course else self.tournament.position


def view_tournament(conn: Connection, viewer: Viewer, found: Tournament) -> TournamentView:
    """Everything of a tournament that this viewer may see. The tournament itself is visible."""
    league = leagues.get_league(conn, found.league_id)
    is_host = may_manage(viewer, league_resource(league))
    entered = tuple(entrants_of(conn, found.id))
    if not has_course(found, entered):
        return TournamentView(
            *(found, league, found.state, entered, None, None, True, is_host, {}, None)
        )
    log = course_cache.read_log(conn, found.id)
    inputs = courses.make_inputs(found, entered, log.published)
    games = courses.seen_games(conn, viewer, inputs, log.games)
    if games is log.games:
        seen = course_cache.course_of_log(inputs, log)
    else:
        seen = course_cache.course_of_games(inputs, log, games)
    view = _view(league, entered, inputs, seen)
    sees_all = games is log.games and (
        found.embargo is Embargo.PUBLIC or is_host or found.state.is_over
    )
    if not sees_all:
        return replace(view, is_host=is_host)
    assert view.course is not None
    return replace(
        view,
        sees_all=True,
        is_host=is_host,
        rounds=_rounds(conn, found.id),
        eta_seconds=_eta_seconds(conn, found, view.course),
    )


def view_of_games(
    conn: Connection, inputs: TournamentInputs, log: TournamentLog, games: Sequence[TournamentGame]
) -> TournamentView:
    """A tournament as far as these games tell it. It names no times and no host's notes."""
    league = leagues.get_league(conn, inputs.tournament.league_id)
    entered = tuple(entrants_of(conn, inputs.tournament.id))
    return _view(league, entered, inputs, course_cache.course_of_games(inputs, log, games))


def _view(
    league: League, entered: tuple[Entrant, ...], inputs: TournamentInputs, seen: SeenCourse
) -> TournamentView:
    return TournamentView(
        tournament=inputs.tournament,
        league=league,
        state=_shown_state(inputs.tournament, seen.course),
        entrants=entered,
        inputs=inputs,
        seen=seen,
        sees_all=False,
        is_host=False,
        rounds={},
        eta_seconds=None,
    )


def has_course(found: Tournament, entered: Iterable[Entrant]) -> bool:
    """Whether its entrants are fixed, so that it has a course."""
    return not found.state.is_before_lock and any(one.number is not None for one in entered)


def _shown_state(found: Tournament, course: Course) -> TournamentState:
    if found.state is TournamentState.FINISHED and not course.finished:
        return TournamentState.RUNNING
    return found.state


def _rounds(conn: Connection, tournament_id: TournamentId) -> dict[str, RoundTimes]:
    rows = conn.execute(
        "select position, started_at, deadline_at, finished_at from tournament_rounds"
        " where tournament_id = %s",
        (tournament_id,),
    )
    return {position: RoundTimes(*times) for position, *times in rows}


def _eta_seconds(conn: Connection, found: Tournament, course: Course) -> float | None:
    """Usual seconds until the games of this round are played; None if none is wanted."""
    if found.state is not TournamentState.RUNNING:
        return None
    left = sum(
        len(one.wanted)
        for one in course.pairings
        if one.state is State.READY and one.round == course.position
    )
    slots = sum(one.slots for one in live_workers(conn) if "play.cpu" in one.queues)
    if not left or not slots:
        return None
    return usual.of(conn, found.season_id) * -(-left // slots)
