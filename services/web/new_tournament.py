"""The form that creates a tournament: the same request as the API's."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.leagues.records import League, Season
from ladder.ratings import standing_versions
from ladder.tournaments import tournaments
from ladder.tournaments.plan_choices import PlanChoice, formats_for, plan_of_choice
from ladder.tournaments.records import NewTournament
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.http.problems import ProblemError
from services.web import form_dates, form_texts, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/leagues/{league}/new-tournament"
OF_PLAN: Final = ("format", "pairs", "rounds", "top", "groups", "reset", "third_place")
DEFAULTS: Final = {
    "title": "",
    "description": "",
    "pairs": "2",
    "rounds": "5",
    "top": "8",
    "groups": "4",
    "reset": "",
    "third_place": "",
    "entry_rule": "open",
    "most_entrants": "64",
    "agents_per_team": "1",
    "zone": form_dates.UTC_NAME,
    "locks_at": "",
    "starts_at": "",
    "check_in_minutes": "0",
    "round_minutes": "60",
    "embargo": "public",
    "remote_agents": "",
    "away_minutes": "5",
    "is_draft": "",
}


@router.get(PATH)
def show_form(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Shows the form to hosts."""
    found = permissions.hosted_league(conn, who, league)
    season = permissions.visible_season(conn, who, found.slug)
    return render_form(request, conn, found, season, Form(default_values(season)))


@router.post(PATH)
def create_tournament(
    request: Request, league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Creates the tournament and shows it, or the form with its errors."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, ("leagues:write",))
    season = permissions.visible_season(conn, who, found.slug)
    form = Form.of(given, default_values(season))
    made = ""

    def make() -> str:
        body = NewTournament.model_validate(request_of_form(form, season))
        return tournaments.create_tournament(conn, found, season, body, who.user_id).id

    try:
        made = form.run_once(request, conn, who, make)
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
    if form.wrong:
        return render_form(request, conn, found, season, form)
    return redirect(f"/tournaments/{made}")


def default_values(season: Season) -> dict[str, str]:
    """Initial value of every field."""
    return {**DEFAULTS, "format": formats_for(season.seats)[0]}


def request_of_form(form: Form, season: Season) -> dict[str, Any]:
    """The API request of the form. Raises ValidationError, ProblemError."""
    values: dict[str, Any] = {name: value for name, value in form.values.items() if value}
    zone = form_dates.parse_zone(values.pop("zone", form_dates.UTC_NAME))
    for name in ("locks_at", "starts_at"):
        if name in values:
            values[name] = form_dates.parse_moment(values[name], zone)
    chosen = {name: values.pop(name) for name in OF_PLAN if name in values}
    values.setdefault("title", "")
    values["description"] = form.values["description"].replace("\r\n", "\n")
    plan = plan_of_choice(PlanChoice.model_validate(chosen), season.seats)
    return {**values, "plan": plan, "season": season.id}


def render_form(
    request: Request, conn: Connection, league: League, season: Season, form: Form
) -> Response:
    return render(
        request,
        "new_tournament.html",
        status=422 if form.wrong else 200,
        league=league,
        season=season,
        form=form,
        formats=[(each.value, form_texts.FORMATS[each]) for each in formats_for(season.seats)],
        pairs_label=form_texts.PAIRS_LABEL if season.seats == 2 else form_texts.GAMES_LABEL,
        pairs_hint=form_texts.PAIRS_HINT if season.seats == 2 else "",
        zones=form_dates.time_zones(),
        order_hint=_order_hint(conn, season),
    )


def _order_hint(conn: Connection, season: Season) -> str:
    """Warns that chance orders the entrants. A season of one seat has no official standing."""
    if season.seats == 1:
        return form_texts.SOLO_ORDER
    return "" if standing_versions.latest_head(conn, season.id) else form_texts.NO_STANDING
