"""The form that edits a league: the same request as ``PATCH /v1/leagues/{league}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ValidationError

from ladder.database.db import Connection
from ladder.entries import medal_lines
from ladder.errors import LadderError
from ladder.leagues import league_update, leagues, seasons
from ladder.leagues.records import League
from ladder.leagues.request_models import LeagueChange, LineMedals
from ladder.people.permissions import may_appoint
from ladder.people.records import Viewer
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.web import forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.season_fields import field_text
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/leagues/{league}/edit"
SCOPES: Final = ("leagues:write",)
OF_HOSTS: Final = ("visibility", "replay_visibility")
"""Fields that a co-host may not change."""
LINES: Final = ("medals.gold", "medals.silver", "medals.bronze")
"""Fields of a season that gives medals by score, until uploads close."""


@router.get(PATH)
def show_form(request: Request, league: LeagueKey, conn: Db, viewer: Visitor) -> Response:
    """Shows the form to hosts."""
    found = permissions.hosted_league(conn, viewer, league)
    return render_form(request, conn, viewer, found, Form(values_of_league(conn, viewer, found)))


@router.post(PATH)
def change_league(
    request: Request, league: LeagueKey, conn: Db, viewer: Visitor, given: forms.Sent
) -> Response:
    """Changes the league and shows it, or the form with its errors."""
    found = permissions.hosted_league(conn, viewer, league)
    auth.check_scopes(viewer, SCOPES)
    form = Form.of(given, values_of_league(conn, viewer, found))
    try:
        with conn.transaction():
            found = leagues.lock_league(conn, found.id)
            present = values_of_league(conn, viewer, found)
            form.refuse_changed(given, present)
            if not form.wrong:
                change_fields(conn, viewer, found, form, present)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
    if form.wrong:
        return render_form(request, conn, viewer, found, form)
    return redirect(f"/leagues/{found.slug}?done=edited")


def change_fields(
    conn: Connection, viewer: Viewer, league: League, form: Form, present: Mapping[str, str]
) -> None:
    """Stores the fields that the visitor changed. Raises ValidationError and LadderError."""
    edited: dict[str, Any] = {}
    for name, now in present.items():
        text = forms.plain_text(form.values[name])
        if text != forms.plain_text(now):
            edited[name] = text
    moves_lines = any([edited.pop(name, None) is not None for name in LINES])
    if "same_team_lineups" in edited:
        edited["same_team_lineups"] = bool(edited["same_team_lineups"])
    league_update.change_league(conn, viewer, league, LeagueChange.model_validate(edited))
    if moves_lines:
        lines = {name.rpartition(".")[2]: form.values[name] for name in LINES}
        medals = LinesForm.model_validate({"medals": {"kind": "lines", **lines}}).medals
        season = seasons.current_season(conn, league.id)
        assert season is not None
        medal_lines.change_medal_lines(conn, viewer, season.id, medals)


class LinesForm(BaseModel):
    """The medal lines of the form. An error has the place of the field: ``medals.gold``."""

    medals: LineMedals


def values_of_league(conn: Connection, viewer: Viewer, league: League) -> dict[str, str]:
    """The present value of every field that the visitor may change."""
    values = {
        "title": league.title,
        "description": league.description,
        "visibility": league.visibility.value,
        "replay_visibility": league.replay_visibility.value,
        "same_team_lineups": "true" if league.same_team_lineups else "",
    }
    if not may_appoint(viewer, league.id):
        values = {name: value for name, value in values.items() if name not in OF_HOSTS}
    season = seasons.current_season(conn, league.id)
    if season is not None and medal_lines.may_move_lines(conn, season):
        values |= {name: field_text(season.medals[name.rpartition(".")[2]]) for name in LINES}
    return values


def render_form(
    request: Request, conn: Connection, viewer: Viewer, league: League, form: Form
) -> Response:
    """Shows the form, with the present values hidden in it; 422 with its errors."""
    return render(
        request,
        "edit_league.html",
        status=422 if form.wrong else 200,
        form=form,
        shown=forms.shown_values(values_of_league(conn, viewer, league)),
        lines=LINES,
        league=league,
        may="leagues:write" in viewer.scopes or viewer.is_admin,
    )
