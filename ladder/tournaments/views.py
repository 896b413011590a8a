"""What one viewer may know of a tournament: the whole, a line of a list, a game, and an export."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

from ladder.database.db import Connection, fetch
from ladder.enums import Embargo
from ladder.errors import Conflict, Invalid
from ladder.ids import AgentId, LeagueId, TournamentId
from ladder.leagues import leagues
from ladder.leagues.records import League, league_resource
from ladder.matches import history
from ladder.matches.durations import UsualSeconds
from ladder.matches.records import Match
from ladder.matches.workers import live_workers
from ladder.people.permissions import may_manage
from ladder.people.records import Viewer
from ladder.tournaments import courses, tournaments
from ladder.tournaments.courses import SeenCourse, TournamentInputs, TournamentLog, position_text
from ladder.tournaments.entrants import entrants_of
from ladder.tournaments.formats.export import export_csv, export_json, export_trf
from ladder.tournaments.formats.plan import Plan, Swiss
from ladder.tournaments.formats.records import Course, Key, Pairing, Progress, Standing, State
from ladder.tournaments.records import (
    Entrant,
    EntrantState,
    GameOutcome,
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
        return NAMED.sub(lambda match: self.name(int(match[1])), pairing.reason)

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


def view_tournament(conn: Connection, viewer: Viewer, tournament: Tournament) -> TournamentView:
    """Everything of a tournament that this viewer may see. The tournament itself is visible."""
    league = leagues.get_league(conn, tournament.league_id)
    is_host = may_manage(viewer, league_resource(league))
    entered = tuple(entrants_of(conn, tournament.id))
    if not has_course(tournament, entered):
        return TournamentView(
            *(tournament, league, tournament.state, entered, None, None, True, is_host, {}, None)
        )
    log = courses.read_log(conn, tournament.id)
    inputs = courses.make_inputs(tournament, entered, log.published)
    games = courses.seen_games(conn, viewer, inputs, log.games)
    if games is log.games:
        visible = courses.course_of_log(inputs, log)
    else:
        visible = courses.course_of_games(inputs, log, games)
    view = _view(league, entered, inputs, visible)
    sees_all = games is log.games and (
        tournament.embargo is Embargo.PUBLIC or is_host or tournament.state.is_over
    )
    if not sees_all:
        return replace(view, is_host=is_host)
    assert view.course is not None
    return replace(
        view,
        sees_all=True,
        is_host=is_host,
        rounds=_rounds(conn, tournament.id),
        eta_seconds=_eta_seconds(conn, tournament, view.course),
    )


def view_of_games(
    conn: Connection, inputs: TournamentInputs, log: TournamentLog, games: Sequence[TournamentGame]
) -> TournamentView:
    """A tournament as far as these games tell it. It names no times and no host's notes."""
    league = leagues.get_league(conn, inputs.tournament.league_id)
    entered = tuple(entrants_of(conn, inputs.tournament.id))
    return _view(league, entered, inputs, courses.course_of_games(inputs, log, games))


def _view(
    league: League, entered: tuple[Entrant, ...], inputs: TournamentInputs, visible: SeenCourse
) -> TournamentView:
    return TournamentView(
        tournament=inputs.tournament,
        league=league,
        state=_shown_state(inputs.tournament, visible.course),
        entrants=entered,
        inputs=inputs,
        seen=visible,
        sees_all=False,
        is_host=False,
        rounds={},
        eta_seconds=None,
    )


def has_course(tournament: Tournament, entered: Iterable[Entrant]) -> bool:
    """Whether its entrants are fixed, so that it has a course."""
    return not tournament.state.is_before_lock and any(
        entrant.number is not None for entrant in entered
    )


def _shown_state(tournament: Tournament, course: Course) -> TournamentState:
    if tournament.state is TournamentState.FINISHED and not course.finished:
        return TournamentState.RUNNING
    return tournament.state


def _rounds(conn: Connection, tournament_id: TournamentId) -> dict[str, RoundTimes]:
    query = """select position, started_at, deadline_at, finished_at from tournament_rounds
        where tournament_id = %(tournament_id)s"""
    rows = conn.execute(query, {"tournament_id": tournament_id})
    return {position: RoundTimes(*times) for position, *times in rows}


def _eta_seconds(conn: Connection, tournament: Tournament, course: Course) -> float | None:
    """Usual seconds until the games of this round are played; None if none is wanted."""
    if tournament.state is not TournamentState.RUNNING:
        return None
    left = sum(
        len(item.wanted)
        for item in course.pairings
        if item.state is State.READY and item.round == course.position
    )
    slots = sum(item.slots for item in live_workers(conn) if "play.cpu" in item.queues)
    if not left or not slots:
        return None
    return usual.of(conn, tournament.season_id) * -(-left // slots)


ROWS: Final = f"""select t.id, case when count(x.number) > 0 then count(x.number)
      else count(*) filter (where x.state = 'entered') end as entered,
      coalesce(bool_or(x.number is not null), false) as has_course, {tournaments.HIDES} as hides,
      min(a.id) as champion_id, min(a.name) as champion_name
    from tournaments t left join tournament_entrants x on x.tournament_id = t.id
    left join agents a on a.id = x.agent_id and x.number = t.champion
    where t.id = any (%s) group by t.id"""
MOST_RUNNING: Final = 5
PLAYED: Final = (TournamentState.RUNNING, TournamentState.PAUSED)


@dataclass(frozen=True, slots=True)
class TournamentSummary:
    """A tournament in a list, as one viewer sees it."""

    tournament: Tournament
    league: League
    state: TournamentState
    """As shown: a finished tournament runs on while its end is hidden."""
    entered: int
    """Number of entrants: after the lock all of the seed order, also those that left since."""
    position: str
    champion_id: AgentId | None
    champion_name: str | None
    seed_hex: str | None
    problem: str | None
    sees_all: bool
    """Whether no result of it is hidden from the viewer, or will be."""

    @property
    def no_champion(self) -> str | None:
        """Why it ended without a champion, as far as the viewer may know."""
        return no_champion(self.state, self.champion_id)

    @property
    def round(self) -> str:
        """The round that is played, such as ``round 2 of 3``; empty if there is none, or if the
        viewer sees only some results."""
        if self.state not in PLAYED or not self.sees_all:
            return ""
        return round_text(self.tournament.plan, self.position)


@dataclass(frozen=True, slots=True)
class _Row:
    id: TournamentId
    entered: int
    has_course: bool
    hides: bool
    """Whether a game of it is not public."""
    champion_id: AgentId | None
    champion_name: str | None


def count_entrants(view: TournamentView) -> int:
    """Number of entrants: after the lock all of the seed order, also those that left since."""
    if view.inputs is not None:
        return len(view.inputs.entrants)
    return sum(entrant.state is EntrantState.ENTERED for entrant in view.entrants)


def summary_of(view: TournamentView) -> TournamentSummary:
    """The summary of a view."""
    champion = view.champion
    return TournamentSummary(
        view.tournament,
        view.league,
        view.state,
        count_entrants(view),
        view.position,
        champion.agent_id if champion else None,
        champion.agent_name if champion else None,
        view.seed_hex,
        view.problem,
        view.sees_all,
    )


def summarize(
    conn: Connection, viewer: Viewer, listed: Sequence[Tournament]
) -> list[TournamentSummary]:
    """Summaries of tournaments that the viewer may see, in this order.

    If a game is hidden from the viewer, the summary follows from the course by the others.
    """
    rows = _read_rows(conn, [tournament.id for tournament in listed])
    by_id = leagues.get_leagues(conn, {tournament.league_id for tournament in listed})
    summaries = []
    for tournament in listed:
        row, league = rows[tournament.id], by_id[tournament.league_id]
        is_host = may_manage(viewer, league_resource(league))
        if row.hides and not is_host and row.has_course:
            summaries.append(summary_of(view_tournament(conn, viewer, tournament)))
        else:
            summaries.append(_from_row(tournament, league, row, is_host))
    return summaries


def _from_row(
    tournament: Tournament, league: League, row: _Row, is_host: bool
) -> TournamentSummary:
    return TournamentSummary(
        tournament,
        league,
        tournament.state,
        row.entered,
        tournament.position,
        row.champion_id,
        row.champion_name,
        tournament.draw_seed.hex() if tournament.state.is_over else None,
        tournament.problem if is_host else None,
        tournament.embargo is Embargo.PUBLIC
        or is_host
        or tournament.state.is_over
        or not row.has_course,
    )


def list_running(
    conn: Connection, viewer: Viewer, league_id: LeagueId | None = None, limit: int = MOST_RUNNING
) -> list[TournamentSummary]:
    """The newest tournaments that run, as far as the viewer may know, of one league or all."""
    started = tournaments.list_tournaments_by_end(
        conn, viewer, league_id, only_started=True, limit=limit
    )
    return [summary for summary in summarize(conn, viewer, started) if summary.state in PLAYED]


def _read_rows(
    conn: Connection, tournament_ids: Sequence[TournamentId]
) -> Mapping[TournamentId, _Row]:
    return {row.id: row for row in fetch(conn, _Row, ROWS, (list(tournament_ids),))}


def round_text(plan: Plan, position: str) -> str:
    """Stage and round, from a position such as ``1.2``: ``round 2 of 3``, ``stage 2, round 1``.

    The number of rounds is named if the plan fixes it.
    """
    stage, _, number = position.partition(".")
    of = getattr(plan.stages[int(stage) - 1], "rounds", None)
    # A play-off follows the last round of a plan.
    counted = f"round {number} of {of}" if of and int(number) <= of else f"round {number}"
    return f"stage {stage}, {counted}" if len(plan.stages) > 1 else counted


MOST_TRIED: Final = 10
"""Games whose replays are looked at for the next one. A league may hide them all."""


@dataclass(frozen=True, slots=True)
class GamePlace:
    """A game in its tournament, as far as the viewer may know."""

    tournament: Tournament
    key: Key | None
    """Its pairing; None if that is not in the course that the viewer knows."""
    round: str
    """Name of its round and section, such as ``Round 2, group 1``; empty without a pairing."""
    following: Match | None
    """The next game whose replay the viewer may see: of the same pairing first."""

    @property
    def title(self) -> str:
        """Tournament and round, such as ``Spring cup, Round 2``."""
        return f"{self.tournament.title}, {self.round}" if self.round else self.tournament.title


def find_place(conn: Connection, viewer: Viewer, match: Match) -> GamePlace | None:
    """The place of a match that the viewer may see; None if it belongs to no tournament."""
    if match.tournament_id is None:
        return None
    tournament = tournaments.get_tournament(conn, match.tournament_id)
    view = view_tournament(conn, viewer, tournament)
    games = [game for games_of_pairing in view.games.values() for game in games_of_pairing]
    own = next((game for game in games if game.match_id == match.id), None)
    if own is None or view.course is None:
        return GamePlace(tournament, None, "", None)
    pairing = next((game for game in view.course.pairings if str(game.key) == own.pairing), None)
    if pairing is None or not set(own.entrants) <= set(pairing.entrants):
        return GamePlace(tournament, None, "", None)
    following = _game_after(conn, viewer, own, games)
    stage = f"Stage {pairing.key.stage}, " if len(tournament.plan.stages) > 1 else ""
    return GamePlace(tournament, pairing.key, stage + pairing.round_name, following)


def _game_after(
    conn: Connection,
    viewer: Viewer,
    own: TournamentGame,
    games: list[TournamentGame],
) -> Match | None:
    later = [
        game for game in games if game.outcome is GameOutcome.COUNTED and _order(game) > _order(own)
    ]
    tried = [game.match_id for game in islice(sorted(later, key=_order), MOST_TRIED)]
    matches = {match.id: match for match in history.get_matches(conn, tried, viewer)}
    shown = [matches[match_id] for match_id in tried if match_id in matches]
    return next((match for match in shown if match.episodes and match.access.has_replay), None)


def _order(game: TournamentGame) -> tuple[Key, int, str]:
    return Key.parse(game.pairing), game.game, game.match_id


@dataclass(frozen=True, slots=True)
class Export:
    """A file to download."""

    content: bytes
    media_type: str
    filename: str


def export(view: TournamentView, form: str, stage: int) -> Export:
    """The file in this form. Raises Conflict before there is something to export, Invalid."""
    tournament = view.tournament
    if view.inputs is None or view.course is None or view.progress is None:
        raise Conflict("there is nothing to export before the lock")
    names = {
        entrant.number: entrant.agent_name for entrant in view.inputs.entrants if entrant.number
    }
    if form == "json":
        if not view.course.finished:
            raise Conflict(
                "this export holds the seed of the draw, so it exists once the tournament is over;"
                " CSV and TRF exist already",
                field="form",
            )
        agents = {
            entrant.number: str(entrant.agent_id)
            for entrant in view.inputs.entrants
            if entrant.number
        }
        scores = {
            entrant.number: entrant.score for entrant in view.inputs.entrants if entrant.number
        }
        content = export_json(view.inputs.event, view.progress, names, agents, scores)
        return Export(content, "application/json", f"{tournament.id}.json")
    if stage > len(view.course.fields):
        raise Invalid("stage", "this stage has not begun")
    if form == "csv":
        text = export_csv(view.standings(stage), names)
        return Export(text.encode(), "text/csv; charset=utf-8", f"{tournament.id}-{stage}.csv")
    if not isinstance(tournament.plan.stages[stage - 1], Swiss):
        raise Invalid("form", "TRF is for Swiss stages; choose csv or json")
    text = export_trf(view.inputs.event, view.progress, view.course, stage, names)
    return Export(text.encode(), "text/plain; charset=utf-8", f"{tournament.id}-{stage}.trf")
