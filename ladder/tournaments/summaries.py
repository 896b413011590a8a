"""Lists of tournaments: what a viewer may know of each, mostly from the rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from ladder.database.db import Connection
from ladder.enums import Embargo
from ladder.ids import AgentId, LeagueId, TournamentId
from ladder.leagues import leagues
from ladder.leagues.records import League, league_resource
from ladder.people.permissions import may_manage
from ladder.people.records import Viewer
from ladder.tournaments import tournaments
from ladder.tournaments.records import EntrantState, Tournament, TournamentState, no_champion
from ladder.tournaments.round_texts import round_text
from ladder.tournaments.views import TournamentView, view_tournament

ROWS: Final = (
    "select t.id, case when count(x.number) > 0 then count(x.number)"  # noqa: S608
    "   else count(*) filter (where x.state = 'entered') end as entered,"
    " coalesce(bool_or(x.number is not null), false) as has_course,"
    f" {tournaments.HIDES} as hides,"
    " min(a.id) as champion_id, min(a.name) as champion_name"
    " from tournaments t left join tournament_entrants x on x.tournament_id = t.id"
    " left join agents a on a.id = x.agent_id and x.number = t.champion"
    " where t.id = any (%s) group by t.id"
)
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
    return sum(one.state is EntrantState.ENTERED for one in view.entrants)


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
    conn: Connection, viewer: Viewer, found: Sequence[Tournament]
) -> list[TournamentSummary]:
    """Summaries of tournaments that the viewer may see, in this order.

    If a game is hidden from the viewer, the summary follows from the course by the others.
    """
    rows = _read_rows(conn, [one.id for one in found])
    known = leagues.get_leagues(conn, {one.league_id for one in found})
    made = []
    for one in found:
        row, league = rows[one.id], known[one.league_id]
        is_host = may_manage(viewer, league_resource(league))
        if row.hides and not is_host and row.has_course:
            made.append(summary_of(view_tournament(conn, viewer, one)))
        else:
            made.append(_from_row(one, league, row, is_host))
    return made


def _from_row(found: Tournament, league: League, row: _Row, is_host: bool) -> TournamentSummary:
    return TournamentSummary(
        found,
        league,
        found.state,
        row.entered,
        found.position,
        row.champion_id,
        row.champion_name,
        found.draw_seed.hex() if found.state.is_over else None,
        found.problem if is_host else None,
        found.embargo is Embargo.PUBLIC or is_host or found.state.is_over or not row.has_course,
    )


def list_running(
    conn: Connection, viewer: Viewer, league_id: LeagueId | None = None, limit: int = MOST_RUNNING
) -> list[TournamentSummary]:
    """The newest tournaments that run, as far as the viewer may know, of one league or all."""
    found = tournaments.list_tournaments_by_end(
        conn, viewer, league_id, only_started=True, limit=limit
    )
    return [one for one in summarize(conn, viewer, found) if one.state in PLAYED]


def _read_rows(
    conn: Connection, tournament_ids: Sequence[TournamentId]
) -> Mapping[TournamentId, _Row]:
    with conn.cursor(row_factory=class_row(_Row)) as cur:
        return {row.id: row for row in cur.execute(ROWS, (list(tournament_ids),))}
