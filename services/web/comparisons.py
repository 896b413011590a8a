"""The pages of comparisons: the form of a league, and the running picture of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.errors import LadderError
from ladder.field_types import KEY
from ladder.ids import SubmissionId, TeamId
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League, Season
from ladder.people import users
from ladder.people.records import Viewer
from ladder.scrims.comparison import comparisons, daily_pairs, stored_pairs
from ladder.scrims.comparison.comparisons import Comparison, PossibleOpponent
from ladder.scrims.comparison.daily_pairs import PairsToday
from ladder.scrims.comparison.request_model import NewComparison
from services.http import auth, permissions
from services.http.app_state import AppState, Db, State
from services.http.comparison_replays import analyse_replays
from services.http.comparison_requests import start_comparison
from services.http.path_parameters import ComparisonKey, LeagueKey
from services.http.problems import ProblemError
from services.web import formatting, forms, session
from services.web.account import redirect
from services.web.comparison_picture import draw_course
from services.web.page_rendering import PageRoute, render
from services.web.scrims import version_options
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
FIELDS: Final = {"old": "", "new": "", "margin": "0.1", "pairs": "", "variants": "1"}
SCOPES: Final = ("scrims:write",)
SHOWN: Final = 20
ONLY_OWN: Final = "Only the team that asked may cancel a comparison."
ENDS: Final = {
    "pairs": "All pairs are used up, and neither bound decided.",
    "deadline": "The comparison took too long. Begin another one with a larger margin.",
    "host_faults": "A pair could not be played: it was given up after four attempts.",
    "opponent_gone": (
        "An opponent no longer plays in the season. Begin another comparison with other opponents."
    ),
}
"""Why a comparison cannot tell."""
WAITS: Final = "It waits for a machine: none of its games has begun."
REFUSED: Final = (ValidationError, ProblemError, LadderError)


@dataclass(frozen=True, slots=True)
class NamedVersion:
    """A submission with its agent's name."""

    agent_id: str
    agent_name: str
    version: int


@router.get("/leagues/{league}/better")
def show_form(
    request: Request,
    league: LeagueKey,
    conn: Db,
    who: Visitor,
    new: Annotated[str | None, Query(pattern=KEY)] = None,
    old: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the form with these versions, and the comparisons of the visitor's teams in this
    league.
    """
    found = permissions.visible_league(conn, who, league)
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/leagues/{found.slug}/better"))
    given = {**FIELDS, "new": new or "", "old": old or ""}
    return form_page(request, conn, who, found, forms.Form(given, {"opponents": []}))


@router.post("/leagues/{league}/better")
def start(
    request: Request, league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Starts a comparison, as the API does. A refused form shows its errors."""
    found = permissions.visible_league(conn, who, league)
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/leagues/{found.slug}/better"))
    auth.check_scopes(who, SCOPES)
    form = forms.Form.of(given, FIELDS, ["opponents"])

    def do_it() -> str:
        values = {name: value for name, value in form.values.items() if value}
        wanted = NewComparison.model_validate({**values, "opponents": form.lists["opponents"]})
        own = agents.get_submission(conn, permissions.own_submission(conn, who, wanted.new).id)
        wanted.team = own.team_id
        return start_comparison(conn, who, found.slug, wanted).id

    try:
        made = form.run_once(request, conn, who, do_it)
    except REFUSED as error:
        form.add_errors(error)
        return form_page(request, conn, who, found, form)
    return redirect(f"/comparisons/{made}")


@router.get("/comparisons/{comparison}")
def show_comparison(
    request: Request, comparison: ComparisonKey, conn: Db, app_state: AppState, who: Visitor
) -> Response:
    """Shows the running picture, the verdict and the analysis."""
    found = permissions.visible_comparison(conn, who, comparison)
    return render_comparison(request, "comparison.html", conn, app_state, who, found)


@router.get("/comparisons/{comparison}/progress")
def show_progress(
    request: Request, comparison: ComparisonKey, conn: Db, app_state: AppState, who: Visitor
) -> Response:
    """The picture alone, for live updates. Asks the page to reload once it is over."""
    found = permissions.visible_comparison(conn, who, comparison)
    if found.state != "running":
        return Response(status_code=205)
    return render_comparison(request, "parts/comparison.html", conn, app_state, who, found)


@router.post("/comparisons/{comparison}/cancel")
def cancel(
    request: Request,
    comparison: ComparisonKey,
    conn: Db,
    who: Visitor,
    form_token: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Stops a comparison without a verdict."""
    session.check_form(request, form_token)
    auth.check_scopes(who, SCOPES)
    found = permissions.visible_comparison(conn, who, comparison)
    if not permissions.may_see_private(who, found.team_id):
        raise ProblemError("forbidden", ONLY_OWN)
    with conn.transaction():
        comparisons.cancel_comparison(conn, found.id)
    return redirect(f"/comparisons/{found.id}")


def form_page(
    request: Request, conn: Connection, who: Viewer, league: League, form: forms.Form
) -> Response:
    """The form with its errors, and the newest comparisons."""
    assert who.user_id is not None
    season = seasons.current_season(conn, league.id)
    members = users.teams_of(conn, who.user_id)
    teams = [team.id for team in members]
    rows = comparisons.list_comparisons(conn, teams, league.id, limit=SHOWN)
    opponents = comparisons.possible_opponents(conn, season, teams) if season else []
    by_team = [
        (team.name, daily_pairs.pairs_today(conn, season, team.id, ()))
        for team in members
        if season is not None
    ]
    return render(
        request,
        "new_comparison.html",
        status=422 if form.wrong else 200,
        league=league,
        season=season,
        own=version_options(conn, who, teams),
        opponents=opponents,
        by_team=by_team,
        limited={} if season is None else pairs_by_opponent(conn, season, teams, opponents),
        rows=[(row, *versions_of(conn, row), shown_state(row)) for row in rows],
        form=form,
    )


def pairs_by_opponent(
    conn: Connection, season: Season, teams: list[TeamId], opponents: list[PossibleOpponent]
) -> dict[SubmissionId, int]:
    """The pairs that today allows against each opponent with a limit of its own."""
    agents_of = daily_pairs.agents_of(conn, [one.submission_id for one in opponents])
    pairs: dict[SubmissionId, int] = {}
    for team in teams:
        limits = daily_pairs.limits_of_agents(conn, season, team, agents_of.values())
        for submission, agent in agents_of.items():
            if agent in limits:
                left = limits[agent].left // 2
                pairs[submission] = min(left, pairs.get(submission, left))
    return pairs


def render_comparison(
    request: Request,
    template: str,
    conn: Connection,
    app_state: State,
    who: Viewer,
    found: Comparison,
) -> Response:
    pairs = stored_pairs.played_pairs(conn, found)
    is_running = found.state == "running"
    state = shown_state(found)
    today = daily_pairs.pairs_of_running(conn, found)
    if state == "waiting" and stored_pairs.unfinished_pairs(conn, found.id):
        state = "ending"
    elif state == "running" and not pairs and not has_begun(conn, found):
        state = "queued"
    old, new = versions_of(conn, found)
    return render(
        request,
        template,
        comparison=found,
        old=old,
        new=new,
        league=leagues.get_league(conn, found.league_id),
        report=stored_pairs.stored_report(found, pairs),
        course=draw_course(stored_pairs.course(conn, found.id), found.margin),
        note=WAITS if state == "queued" else note_on(found, today),
        shown_state=state,
        today=today,
        replays=analyse_replays(app_state, conn, found, pairs),
        may_cancel=is_running and permissions.may_see_private(who, found.team_id),
    )


def has_begun(conn: Connection, found: Comparison) -> bool:
    """Whether a machine has begun one of its games."""
    issued = stored_pairs.issued_pairs(conn, found.id)
    return any({pair.old_state, pair.new_state} != {"queued"} for pair in issued)


def shown_state(found: Comparison) -> str:
    """The state; ``waiting`` if no further pair may begin now."""
    if found.state == "running" and found.waits_until is not None:
        return "waiting" if found.waits_until > datetime.now(UTC) else found.state
    return found.state


def note_on(found: Comparison, today: PairsToday | None) -> str:
    """Why it waits, or why it cannot tell. Empty for any other comparison."""
    waits_until = found.waits_until if shown_state(found) == "waiting" else None
    if waits_until is not None and today is not None:
        until = f"No further pair begins before {formatting.date_text(waits_until)}"
        if today.pairs:
            return f"{until}: an opponent takes no scrims now."
        return f"{until}. The limit is used up: {today.limit}, {today.used} of {today.allowed}."
    return ENDS.get(found.ended_by or "", "")


def versions_of(conn: Connection, found: Comparison) -> tuple[NamedVersion, NamedVersion]:
    """The old and the new version with their agents' names."""
    both = []
    for submission_id in (found.old_submission_id, found.new_submission_id):
        one = agents.get_submission(conn, submission_id)
        agent = agents.get_agent(conn, one.agent_id)
        both.append(NamedVersion(agent.id, agent.name, one.version))
    return both[0], both[1]
