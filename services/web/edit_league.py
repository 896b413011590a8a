"""The form that edits a league: the same request as ``PATCH /v1/leagues/{league}``."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from ladder.errors import LadderError
from ladder.leagues import league_update
from ladder.leagues.records import League
from ladder.leagues.request_models import LeagueChange
from ladder.people.permissions import may_appoint
from ladder.people.records import Viewer
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.web import forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/leagues/{league}/edit"
SCOPES: Final = ("leagues:write",)
OF_HOSTS: Final = ("visibility", "replay_visibility")
"""Fields that a co-host may not change."""


@router.get(PATH)
def show_form(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Shows the form to hosts."""
    found = permissions.hosted_league(conn, who, league)
    return render_form(request, who, found, Form(values_of_league(who, found)))


@router.post(PATH)
def change_league(
    request: Request, league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Changes the league and shows it, or the form with its errors."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    form = Form.of(given, values_of_league(who, found))
    try:
        asked = LeagueChange.model_validate(request_of_form(form))
        with conn.transaction():
            league_update.change_league(conn, who, found, asked)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return render_form(request, who, found, form)
    return redirect(f"/leagues/{found.slug}?done=edited")


def values_of_league(who: Viewer, league: League) -> dict[str, str]:
    """The present value of every field that the visitor may change."""
    values = {
        "title": league.title,
        "description": league.description,
        "visibility": league.visibility.value,
        "replay_visibility": league.replay_visibility.value,
        "same_team_lineups": "true" if league.same_team_lineups else "",
    }
    if not may_appoint(who, league.id):
        values = {name: value for name, value in values.items() if name not in OF_HOSTS}
    return values


def request_of_form(form: Form) -> dict[str, Any]:
    """The API request of the form."""
    return {
        **form.values,
        "description": form.values["description"].replace("\r\n", "\n"),
        "same_team_lineups": bool(form.values["same_team_lineups"]),
    }


def render_form(request: Request, who: Viewer, league: League, form: Form) -> Response:
    """Shows the form; 422 with its errors."""
    return render(
        request,
        "edit_league.html",
        status=422 if form.wrong else 200,
        form=form,
        league=league,
        may="leagues:write" in who.scopes or who.is_admin,
    )
