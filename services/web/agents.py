"""The page of an agent: rank, rating, matches and submissions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries import declared_entry, entries
from ladder.entries.records import Agent, Entry, EntryState
from ladder.entries.request_models import Declaration
from ladder.errors import LadderError, NotFound
from ladder.field_types import KEY
from ladder.ids import EntryId, MatchId
from ladder.leagues import leagues, records
from ladder.leagues import seasons as leagues_seasons
from ladder.leagues.records import Season
from ladder.matches import history
from ladder.matches.match_search import MatchFilter
from ladder.matches.records import Match, Seat
from ladder.people.permissions import may_manage, may_see
from ladder.people.records import Viewer
from ladder.ratings import live_ratings
from ladder.ratings.official.representatives import LEAST_GAMES
from ladder.reports import insights, season_charts
from ladder.scrims import policies
from ladder.standings import rank_reasons
from ladder.tournaments import tournaments
from services.http import auth, permissions
from services.http.app_state import AppState, Db
from services.http.path_parameters import AgentKey
from services.web import charts, forms, leaderboard_page, rating_curve, remote_submission
from services.web import declared_entry as web_declared_entry
from services.web.account import redirect
from services.web.forms import Form
from services.web.live import playing_now
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.sharing import agent_sharing
from services.web.submission_list import submission_rows

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MATCHES_SHOWN = 25
TOURNAMENTS_SHOWN = 10
POINTS_SHOWN = 300
FEW_GAMES = 10
"""With fewer games the tables of results are folded: they say little."""
STANDING = (EntryState.ACTIVE, EntryState.PAUSED, EntryState.RETIRED)


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


@router.get("/agents/{agent}")
def show_agent(
    request: Request,
    agent: AgentKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    entry: Annotated[str | None, Query(pattern=KEY)] = None,
    before: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows rating curve, matches and submissions of the chosen entry, by default the best."""
    found = permissions.visible_agent(conn, who, agent)
    return agent_page(request, conn, app_state, who, found, entry=entry, before=before)


@router.post("/agents/{agent}/declare")
def declare(
    request: Request,
    agent: AgentKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Declares the entry that ranks its team, or none, as the API does."""
    found = permissions.visible_agent(conn, who, agent)
    auth.check_scopes(who, ["agents:write"])
    form = Form.of(given, {"season": "", "entry": ""})
    season, entry = forms.parse_key(given, "season"), form.values["entry"] or None
    try:
        body = Declaration.model_validate({"entry": entry})
        chosen = None if body.entry is None else EntryId(body.entry)
        playing = permissions.visible_season(conn, who, season)
        team = permissions.require_member_team(conn, who, found.team_id)
        with conn.transaction():
            declared_entry.declare_entry(conn, playing.id, team.id, chosen, who.user_id)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return agent_page(request, conn, app_state, who, found, form=form)
    return redirect(f"/agents/{found.id}")


def agent_page(
    request: Request,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    found: Agent,
    *,
    entry: str | None = None,
    before: str | None = None,
    form: Form | None = None,
    remote: Form | None = None,
    unresumed: str | None = None,
) -> Response:
    """The agent's page. Shows a refused form, or the reason why an entry was not resumed."""
    seen = entries_of(conn, who, found)
    chosen = choose_entry(seen, entry)
    season = leagues_seasons.get_season(conn, chosen.season_id) if chosen else None
    wanted = MatchFilter(agent_id=found.id, entry_id=chosen.id if chosen and entry else None)
    rows = history.list_matches(
        conn,
        viewer=who,
        agent_id=wanted.agent_id,
        entry_id=wanted.entry_id,
        before=MatchId(before) if before else None,
        includes_series=False,
        limit=MATCHES_SHOWN,
    )
    sees_replay = permissions.visible_replay_filter(conn, who)
    owner = permissions.may_see_private(who, found.team_id)
    return render(
        request,
        "agent.html",
        sharing=agent_sharing(request, conn, found),
        status=422 if any(one and one.wrong for one in (form, remote)) or unresumed else 200,
        submitting=remote_submission.remote_submission_form(conn, who, found, remote),
        unresumed=unresumed,
        declaring=web_declared_entry.declared_entry_form(conn, who, found, season, form),
        agent=found,
        owner=owner,
        accepts_everybody=policies.get_policy(conn, found.id).accepts_everybody,
        entry=chosen,
        season=season,
        entry_query=f"&entry={chosen.id}" if chosen and entry else "",
        matches=[match_row(who, row, wanted, owner or sees_replay(row)) for row in rows],
        versions={row.submission_id: row.version for row in seen},
        entry_versions={row.id: row.version for row in seen},
        least_games=LEAST_GAMES,
        few=FEW_GAMES,
        older=rows[-1].id if len(rows) == MATCHES_SHOWN else None,
        playing=any(row.state is EntryState.ACTIVE for row in seen),
        **standing_context(conn, app_state, who, chosen, season),
        running=playing_now(conn, who, agent_id=found.id),
        tournaments=tournaments.list_tournaments(
            conn, who, agent_id=found.id, limit=TOURNAMENTS_SHOWN
        ),
        insights=insights_of(conn, who, chosen, season),
        **move_time_chart(conn, chosen, season, owner=owner),
        **submission_rows(conn, app_state, who, found, seen),
    )


@router.get("/agents/{agent}/submissions")
def show_submissions(
    request: Request,
    agent: AgentKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    entry: Annotated[str | None, Query(pattern=KEY)] = None,
    stage: Annotated[str | None, Query(max_length=20)] = None,
) -> Response:
    """The list alone, for live updates. Asks the page to reload once the stage is another one."""
    found = permissions.visible_agent(conn, who, agent)
    seen = entries_of(conn, who, found)
    values = submission_rows(conn, app_state, who, found, seen)
    if not values["stage"] or stage not in (None, values["stage"]):
        return Response(status_code=205)
    return render(
        request,
        "parts/submissions.html",
        agent=found,
        owner=permissions.may_see_private(who, found.team_id),
        entry=choose_entry(seen, entry),
        unresumed=None,
        **values,
    )


def entries_of(conn: Connection, who: Viewer, agent: Agent) -> list[Entry]:
    """The entries that the visitor may see, newest first."""
    return entries.list_entries(conn, viewer=who, agent_id=agent.id, limit=100)


def choose_entry(seen: Sequence[Entry], asked: str | None) -> Entry | None:
    """The chosen entry, else the best that plays, else the newest. Raises NotFound."""
    if asked is not None:
        for row in seen:
            if row.id == EntryId(asked):
                return row
        raise NotFound.of("entry")
    playing = [row for row in seen if row.state is EntryState.ACTIVE]
    played = [row for row in seen if row.state in STANDING]
    best = sorted(playing or played, key=lambda row: (row.games == 0, -row.mu))
    return best[0] if best else None


def standing_context(
    conn: Connection, app_state: AppState, who: Viewer, entry: Entry | None, season: Season | None
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
    values["runs"] = may_manage(who, records.league_resource(values["league"]))
    values["standing"] = board.rows.row_of(entry.id)
    sharing = leaderboard_page.teams_sharing(conn, board)
    values["same_score"] = rank_reasons.rows_of_same_score(values["standing"], board.rows, sharing)
    values["rank_reason"] = rank_reasons.why_no_rank(entry, board.rows)
    values["ranked"] = board.rows.ranked
    values["shown_score"] = entry.mu + season.score_offset if entry.has_score else None
    values["curve"] = None if season.measures else draw_curve(conn, entry, season)
    return values


def insights_of(
    conn: Connection, who: Viewer, entry: Entry | None, season: Season | None
) -> insights.Insights | None:
    """The entry's insights. None if the visitor may not see the league."""
    if entry is None or season is None:
        return None
    league = leagues.get_league(conn, season.league_id)
    if not may_see(who, records.league_resource(league)):
        return None
    return insights.read_insights_for(conn, who, entry, season)


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
    start = rating_curve.CurvePoint(
        rows[0].mu_before + offset, rows[0].sigma_before, 0.0, rows[0].match_id, rows[0].at
    )
    points = [
        rating_curve.CurvePoint(
            row.mu + offset, row.sigma, row.mu - row.mu_before, row.match_id, row.at
        )
        for row in rows
    ]
    return rating_curve.draw_curves(points, start)


def match_row(who: Viewer, match: Match, wanted: MatchFilter, is_open: bool) -> MatchRow:
    """One row of the table of matches, for the agent or entry of the filter."""
    seat = wanted.seat_of_player(match)
    assert seat is not None
    change = None
    if seat.mu_after is not None and seat.mu_before is not None:
        change = seat.mu_after - seat.mu_before
    return MatchRow(
        match=match,
        seat=seat,
        ending=permissions.seat_ending(who, match, seat),
        others=[other for other in match.seats if other is not seat],
        change=change,
        charged_seconds=seat.charged_seconds if is_open else None,
    )
