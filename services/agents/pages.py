"""The page of an agent: rank, rating, matches and submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup
from pydantic import BaseModel

from ladder.database.db import Connection
from ladder.entries import declared_entry, entries, remote_agents
from ladder.entries.agents import AgentChange
from ladder.entries.records import Agent, Entry, EntryState
from ladder.entries.submit import NewRemote
from ladder.enums import AgentMachines
from ladder.errors import NotFound
from ladder.field_types import KEY, Key
from ladder.ids import MatchId
from ladder.leagues import leagues, records
from ladder.leagues import seasons as leagues_seasons
from ladder.leagues.records import Season
from ladder.matches import history
from ladder.matches.match_search import MatchFilter
from ladder.matches.match_titles import ending_text
from ladder.matches.records import Match, Seat
from ladder.people.permissions import may_enter, may_manage, may_see
from ladder.people.records import Viewer
from ladder.ratings import live_ratings
from ladder.ratings.official.representatives import LEAST_GAMES
from ladder.reports import insights, season_charts
from ladder.scrims import policies
from ladder.standings import rank_reasons
from ladder.tournaments import tournaments
from services.agents.submission_list import submission_rows
from services.agents.things import OwnAgent, VisibleAgent
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Known
from services.web import charts, form_texts, leaderboard_page
from services.web.live import playing_now
from services.web.operation_forms import NoForms, PageForms
from services.web.page_rendering import PageRoute, render
from services.web.sharing import agent_sharing

router = APIRouter(route_class=PageRoute, include_in_schema=False)
ENTRIES_READ: Final = 100
MATCHES_SHOWN: Final = 25
TOURNAMENTS_SHOWN: Final = 10
POINTS_SHOWN: Final = 300
FEW_GAMES: Final = 10
"""With fewer games the tables of results are folded: they say little."""
STANDING: Final = (EntryState.ACTIVE, EntryState.PAUSED, EntryState.RETIRED)


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A match from the view of one agent."""

    match: Match
    seat: Seat
    ending: str | None
    """How it ended for the agent; None while it is not finished."""
    others: list[Seat]
    change: float | None
    charged_seconds: float | None
    """Seconds charged for its moves. None if the visitor may not see the replay."""


class MachinesForm(BaseModel):
    """Asks a team which machines may run its agent."""

    machines: AgentMachines

    def request(self, _: Mapping[str, Any]) -> AgentChange:
        return AgentChange(machines=self.machines)


class RemoteForm(NewRemote):
    """Asks for an address and the season that it enters."""

    season: Key

    def request(self, _: Mapping[str, Any]) -> NewRemote:
        return NewRemote(**self.model_dump(exclude={"season"}))


@dataclass(frozen=True, slots=True)
class DeclaredEntryForm:
    """The entries to choose from, and the present choice."""

    season: Season
    candidates: list[Entry]
    current: Entry | None
    """The declared entry. None: the service chooses the entry."""
    is_open: bool
    may: bool
    """Whether this session's token may declare an entry."""


@router.get("/agents/{agent}")
def agent_page(
    request: Request,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    agent: VisibleAgent,
    forms: NoForms,
    chosen: Annotated[str | None, Query(alias="entry", pattern=KEY)] = None,
    before: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows rating curve, matches and submissions of the chosen entry, by default the best."""
    shown = entries_of(conn, viewer, agent)
    entry = choose_entry(shown, chosen)
    season = leagues_seasons.get_season(conn, entry.season_id) if entry else None
    match_filter = MatchFilter(agent_id=agent.id, entry_id=entry.id if entry and chosen else None)
    rows = history.list_matches(
        conn,
        viewer=viewer,
        agent_id=match_filter.agent_id,
        entry_id=match_filter.entry_id,
        before=MatchId(before) if before else None,
        includes_series=False,
        limit=MATCHES_SHOWN,
    )
    owner = permissions.may_see_private(viewer, agent.team_id)
    return render(
        request,
        "agents/agent.html",
        status=forms.status,
        sharing=agent_sharing(request, conn, agent),
        forms=forms,
        seasons_of_address=seasons_of_address(conn, viewer, agent, forms),
        declaring=declared_entry_form(conn, viewer, agent, season),
        agent=agent,
        owner=owner,
        accepts_everybody=policies.get_policy(conn, agent.id).accepts_everybody,
        entry=entry,
        season=season,
        entry_query=f"&entry={entry.id}" if entry and chosen else "",
        matches=[match_row(row, match_filter) for row in rows],
        versions={row.submission_id: row.version for row in shown},
        entry_versions={row.id: row.version for row in shown},
        least_games=LEAST_GAMES,
        few=FEW_GAMES,
        older=rows[-1].id if len(rows) == MATCHES_SHOWN else None,
        playing=any(row.state is EntryState.ACTIVE for row in shown),
        **standing_context(conn, app_state, viewer, entry, season),
        running=playing_now(conn, viewer, agent_id=agent.id),
        tournaments=tournaments.list_tournaments(
            conn, viewer, agent_id=agent.id, limit=TOURNAMENTS_SHOWN
        ),
        insights=insights_of(conn, viewer, entry, season),
        **move_time_chart(conn, entry, season, owner=owner),
        **submission_rows(conn, app_state, viewer, agent, shown),
    )


@router.get("/agents/{agent}/submissions")
def show_submissions(
    request: Request,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    agent: VisibleAgent,
    forms: NoForms,
    chosen: Annotated[str | None, Query(alias="entry", pattern=KEY)] = None,
    stage: Annotated[str | None, Query(max_length=20)] = None,
) -> Response:
    """The list alone, for live updates. Asks the page to reload once the stage is another one."""
    shown = entries_of(conn, viewer, agent)
    values = submission_rows(conn, app_state, viewer, agent, shown)
    if not values["stage"] or stage not in (None, values["stage"]):
        return Response(status_code=205)
    return render(
        request,
        "agents/submissions.html",
        agent=agent,
        owner=permissions.may_see_private(viewer, agent.team_id),
        entry=choose_entry(shown, chosen),
        forms=forms,
        **values,
    )


@router.get("/agents/{agent}/machines")
def machines_page(request: Request, viewer: Known, own: OwnAgent, forms: NoForms) -> Response:
    """Shows the choice of machines to the agent's team."""
    if forms.refused is None:
        forms["choose_machines"].values["machines"] = own.machines
    return render(
        request,
        "agents/machines.html",
        status=forms.status,
        agent=own,
        form=forms["choose_machines"],
        choices=[*form_texts.AGENT_MACHINES.items()],
        may="agents:write" in viewer.scopes or viewer.is_admin,
    )


def declared_entry_form(
    conn: Connection, viewer: Viewer, agent: Agent, season: Season | None
) -> DeclaredEntryForm | None:
    """The form for members of the agent's team. None for others, and if nothing can be declared."""
    if season is None or not permissions.may_see_private(viewer, agent.team_id):
        return None
    active = entries.list_entries(
        conn,
        season_id=season.id,
        team_id=agent.team_id,
        state=EntryState.ACTIVE,
        limit=ENTRIES_READ,
    )
    candidates = [entry for entry in active if not entry.is_anchor]
    entry_id = declared_entry.declared_entry_of_team(conn, season.id, agent.team_id)
    current = None if entry_id is None else entries.get_entry(conn, entry_id)
    if not candidates and current is None:
        return None
    closing = [date for date in (season.closes_at, season.ends_at) if date is not None]
    return DeclaredEntryForm(
        season=season,
        candidates=candidates,
        current=current,
        is_open=season.state == "open" and all(date > datetime.now(UTC) for date in closing),
        may="agents:write" in viewer.scopes or viewer.is_admin,
    )


def seasons_of_address(
    conn: Connection, viewer: Viewer, agent: Agent, forms: PageForms
) -> list[tuple[str, str]]:
    """Id and title of each season that the agent may enter as a remote one, for its team.

    An agent that has entered a season is offered seasons of the same game alone. Chooses the season
    that it entered last, or the only one; otherwise the first option asks to choose.
    """
    if not permissions.may_see_private(viewer, agent.team_id):
        return []
    if "agents:write" not in viewer.scopes:
        return []
    own = entries.list_entries(conn, agent_id=agent.id, limit=ENTRIES_READ)
    entered = leagues_seasons.seasons_with_leagues(conn, {entry.season_id for entry in own})
    games = {season.game for season, _ in entered}
    options = [
        (season.id, f"{league.title}, season {season.number}")
        for season, league in remote_agents.seasons_open_to_remote_agents(conn)
        if may_enter(viewer, records.league_resource(league), agent.team_id)
        and (not games or season.game in games)
    ]
    ids = [season_id for season_id, _ in options]
    likely = [
        *(e.season_id for e in own if e.season_id in ids and e.state is not EntryState.REJECTED),
        *(ids if len(ids) == 1 else ()),
    ]
    form = forms["submit_remote"]
    if forms.refused is not form:
        form.values["season"] = "".join(likely[:1])
    asks = [] if form.values["season"] or not options else [("", form_texts.CHOOSE_ONE)]
    return [*asks, *options]


def entries_of(conn: Connection, viewer: Viewer, agent: Agent) -> list[Entry]:
    """The entries that the visitor may see, newest first."""
    return entries.list_entries(conn, viewer=viewer, agent_id=agent.id, limit=ENTRIES_READ)


def choose_entry(shown: Sequence[Entry], chosen: str | None) -> Entry | None:
    """The chosen entry, else the best that plays, else the newest. Raises NotFound."""
    if chosen is not None:
        for entry in shown:
            if entry.id == chosen:
                return entry
        raise NotFound.of("entry")
    playing = [entry for entry in shown if entry.state is EntryState.ACTIVE]
    played = [entry for entry in shown if entry.state in STANDING]
    best = sorted(playing or played, key=lambda entry: (entry.games == 0, -entry.mu))
    return best[0] if best else None


def standing_context(
    conn: Connection,
    app_state: AppState,
    viewer: Viewer,
    entry: Entry | None,
    season: Season | None,
) -> dict[str, Any]:
    """Rank, score and curve of an entry, for the template."""
    values: dict[str, Any] = dict.fromkeys(
        (
            *("league", "runs", "standing", "same_score", "ranked", "rank_reason", "shown_score"),
            "curve",
        )
    )
    if entry is None or season is None:
        return values
    board = app_state.boards.board(season.id, season.revision)
    values["league"] = leagues.get_league(conn, season.league_id)
    values["runs"] = may_manage(viewer, records.league_resource(values["league"]))
    values["standing"] = board.rows.row_of(entry.id)
    sharing = leaderboard_page.teams_sharing(conn, board)
    values["same_score"] = rank_reasons.rows_of_same_score(values["standing"], board.rows, sharing)
    values["rank_reason"] = rank_reasons.why_no_rank(entry, board.rows)
    values["ranked"] = board.rows.ranked
    values["shown_score"] = entry.mu + season.score_offset if entry.has_score else None
    values["curve"] = None if season.measures else draw_curve(conn, entry, season)
    return values


def insights_of(
    conn: Connection, viewer: Viewer, entry: Entry | None, season: Season | None
) -> insights.Insights | None:
    """The entry's insights. None if the visitor may not see the league."""
    if entry is None or season is None:
        return None
    league = leagues.get_league(conn, season.league_id)
    if not may_see(viewer, records.league_resource(league)):
        return None
    return insights.read_insights_for(conn, viewer, entry, season)


def move_time_chart(
    conn: Connection, entry: Entry | None, season: Season | None, *, owner: bool
) -> dict[str, Any]:
    """The slowest moves of the entry's matches and their chart, for its team alone."""
    times = (
        season_charts.move_times(conn, entry.id) if owner and entry is not None and season else []
    )
    drawn = charts.draw_move_times(times, season.clock["act_seconds"]) if season and times else None
    return {"move_times": times[::-1], "move_chart": drawn}


def draw_curve(conn: Connection, entry: Entry, season: Season) -> Markup | None:
    """The rating after each match, or None before the first."""
    rows = live_ratings.rating_curve(conn, entry.id, POINTS_SHOWN)
    if not rows:
        return None
    offset = season.score_offset
    start = charts.CurvePoint(
        rows[0].mu_before + offset, rows[0].sigma_before, 0.0, rows[0].match_id, rows[0].at
    )
    points = [
        charts.CurvePoint(row.mu + offset, row.sigma, row.mu - row.mu_before, row.match_id, row.at)
        for row in rows
    ]
    return charts.draw_curves(points, start)


def match_row(match: Match, match_filter: MatchFilter) -> MatchRow:
    """One row of the table of matches, for the agent or entry of the filter."""
    seat = match_filter.seat_of_player(match)
    assert seat is not None
    change = None
    if seat.mu_after is not None and seat.mu_before is not None:
        change = seat.mu_after - seat.mu_before
    return MatchRow(
        match=match,
        seat=seat,
        ending=ending_text(match, seat),
        others=[other for other in match.seats if other is not seat],
        change=change,
        charged_seconds=seat.charged_seconds,
    )
