"""The pages of comparisons: the form of a league, and the running picture of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.field_types import KEY
from ladder.ids import SubmissionId, TeamId
from ladder.leagues import leagues, seasons
from ladder.leagues.records import Season
from ladder.people import users
from ladder.people.records import Viewer
from ladder.scrims import comparisons
from ladder.scrims.comparisons import Bounds, Comparison, NewComparison, PossibleOpponent
from services.comparisons.report import ComparisonReport, VisibleComparison, read_report
from services.http import permissions
from services.http.app_state import AppState, Db, State
from services.http.auth import Anyone, Known
from services.leagues.things import VisibleLeague
from services.scrims.pages import version_options
from services.web.charts import DrawingFrame
from services.web.formatting import date_text, signed_text
from services.web.operation_forms import NoForms
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SHOWN: Final = 20
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
LARGE: Final = DrawingFrame(760, 230, "large", left=66)
SMALL: Final = DrawingFrame(340, 210, "small", left=62, right=8)
LEAST_RANGE: Final = 0.2


@dataclass(frozen=True, slots=True)
class NamedVersion:
    """A submission with its agent's name."""

    agent_id: str
    agent_name: str
    version: int


class ComparisonForm(NewComparison):
    """Asks for the team by the new version."""

    def request(self, values: Mapping[str, Any]) -> NewComparison:
        conn: Connection = values["conn"]
        submission = permissions.own_submission(conn, values["viewer"], self.new)
        return self.model_copy(update={"team": submission.team_id})


@router.get("/leagues/{league}/better")
def new_comparison_page(
    request: Request,
    conn: Db,
    viewer: Known,
    league: VisibleLeague,
    forms: NoForms,
    new: Annotated[str | None, Query(pattern=KEY)] = None,
    old: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """The form with these versions, and the newest comparisons of the visitor's teams here."""
    assert viewer.user_id is not None
    form = forms["create_comparison"]
    if forms.refused is None:
        form.values |= {"new": new or "", "old": old or ""}
    season = seasons.current_season(conn, league.id)
    members = users.teams_of(conn, viewer.user_id)
    teams = [team.id for team in members]
    rows = comparisons.list_comparisons(conn, teams, league.id, limit=SHOWN)
    opponents = comparisons.possible_opponents(conn, season, teams) if season else []
    by_team = [
        (team.name, comparisons.pairs_today(conn, season, team.id, ()))
        for team in members
        if season is not None
    ]
    return render(
        request,
        "comparisons/new_comparison.html",
        status=forms.status,
        league=league,
        season=season,
        own=version_options(conn, viewer, teams),
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
    agents_of = comparisons.agents_of(conn, [opponent.submission_id for opponent in opponents])
    pairs: dict[SubmissionId, int] = {}
    for team in teams:
        limits = comparisons.limits_of_agents(conn, season, team, agents_of.values())
        for submission, agent in agents_of.items():
            if agent in limits:
                left = limits[agent].left // 2
                pairs[submission] = min(left, pairs.get(submission, left))
    return pairs


def versions_of(conn: Connection, comparison: Comparison) -> tuple[NamedVersion, NamedVersion]:
    """The old and the new version with their agents' names."""
    versions = []
    for submission_id in (comparison.old_submission_id, comparison.new_submission_id):
        submission = agents.get_submission(conn, submission_id)
        agent = agents.get_agent(conn, submission.agent_id)
        versions.append(NamedVersion(agent.id, agent.name, submission.version))
    return versions[0], versions[1]


@router.get("/comparisons/{comparison}")
def show_comparison(
    request: Request, conn: Db, app_state: AppState, viewer: Anyone, comparison: VisibleComparison
) -> Response:
    """Shows the running picture, the verdict and the analysis."""
    template = "comparisons/comparison.html"
    return render_comparison(request, template, conn, app_state, viewer, comparison)


@router.get("/comparisons/{comparison}/progress")
def show_comparison_progress(
    request: Request, conn: Db, app_state: AppState, viewer: Anyone, comparison: VisibleComparison
) -> Response:
    """The picture alone, for live updates. Asks the page to reload once it is over."""
    if comparison.state != "running":
        return Response(status_code=205)
    template = "comparisons/comparison_part.html"
    return render_comparison(request, template, conn, app_state, viewer, comparison)


def render_comparison(
    request: Request,
    template: str,
    conn: Connection,
    app_state: State,
    viewer: Viewer,
    comparison: Comparison,
) -> Response:
    report = read_report(app_state, conn, comparison)
    is_running, state = report.state == "running", shown_state(report)
    if state == "waiting" and report.unfinished_pairs:
        state = "ending"
    elif state == "running" and not report.pairs and not report.has_begun:
        state = "queued"
    old, new = versions_of(conn, comparison)
    return render(
        request,
        template,
        report=report,
        old=old,
        new=new,
        league=leagues.get_league(conn, comparison.league_id),
        picture=draw_course(report.course, report.margin),
        note=WAITS if state == "queued" else note_on(report),
        shown_state=state,
        may_cancel=is_running and permissions.may_see_private(viewer, comparison.team_id),
    )


def shown_state(comparison: Comparison) -> str:
    """The state; ``waiting`` if no further pair may begin now."""
    waits_until = comparison.waits_until
    if comparison.state == "running" and waits_until and waits_until > datetime.now(UTC):
        return "waiting"
    return comparison.state


def note_on(report: ComparisonReport) -> str:
    """Why it waits, or why it cannot tell. Empty for any other comparison."""
    today = report.today
    if shown_state(report) == "waiting" and report.waits_until is not None and today is not None:
        until = f"No further pair begins before {date_text(report.waits_until)}"
        if today.pairs:
            return f"{until}: an opponent takes no scrims now."
        return f"{until}. The limit is used up: {today.limit}, {today.used} of {today.allowed}."
    return ENDS.get(report.ended_by or "", "")


def draw_course(course: Sequence[Bounds], margin: float) -> Markup:
    """Two drawings of the same course, for wide and for narrow windows. Empty without pairs."""
    if not course:
        return Markup("")
    return Markup("").join(_draw(course, margin, frame) for frame in (LARGE, SMALL))


def _draw(course: Sequence[Bounds], margin: float, frame: DrawingFrame) -> Markup:
    last = course[-1]
    largest = min(1.0, max(LEAST_RANGE, 2 * margin, 1.6 * max(abs(last.low), abs(last.high))))
    inner_width = frame.width - frame.left - frame.right
    inner_height = frame.height - frame.top - frame.bottom

    def x(pairs: float) -> float:
        return round(frame.left + inner_width * pairs / last.pairs, 1)

    def y(value: float) -> float:
        inside = max(-largest, min(largest, value))
        return round(frame.top + inner_height * (largest - inside) / (2 * largest), 1)

    def path(points: Sequence[tuple[int, float]]) -> str:
        return " ".join(f"{x(pairs)},{y(value)}" for pairs, value in points)

    mean = last.difference
    label = (
        f"After {last.pairs} pairs the mean difference is {signed_text(mean, 3)},"
        f" between {signed_text(last.low, 3)} and {signed_text(last.high, 3)}"
    )
    parts = [
        Markup('<svg class="curve {}" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
            frame.name, frame.width, frame.height, label
        )
    ]
    apart = max(0.0, 14 - (y(0) - y(margin))) / 2  # so that the two labels do not touch
    lines = (
        (largest, signed_text(largest), 0.0),
        (margin, "margin", -apart),
        (0.0, "0", apart),
        (-largest, signed_text(-largest), 0.0),
    )
    for value, name, shift in lines:
        parts.append(
            Markup(
                '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
                '<text x="{}" y="{}" text-anchor="end">{}</text>'
            ).format(
                frame.left,
                frame.width - frame.right,
                y(value),
                y(value),
                frame.left - 8,
                round(y(value) + 4 + shift, 1),
                name,
            )
        )
    upper = [(0, 1.0), *((bounds.pairs, bounds.high) for bounds in course)]
    lower = [(0, -1.0), *((bounds.pairs, bounds.low) for bounds in course)]
    parts.append(Markup('<polygon class="band" points="{}"/>').format(path(upper + lower[::-1])))
    middle = [(bounds.pairs, bounds.difference) for bounds in course]
    parts.append(Markup('<polyline class="line" points="{}"/>').format(path(middle)))
    parts.append(
        Markup('<circle class="last" cx="{}" cy="{}" r="4.5"/>').format(x(last.pairs), y(mean))
    )
    foot = frame.height - 7
    parts.append(Markup('<text x="{}" y="{}">start</text>').format(frame.left, foot))
    parts.append(
        Markup('<text x="{}" y="{}" text-anchor="end">{} pairs</text></svg>').format(
            frame.width - frame.right, foot, last.pairs
        )
    )
    return Markup("").join(parts)
