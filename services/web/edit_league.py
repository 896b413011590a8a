"""The form that edits a league: the same request as ``PATCH /v1/leagues/{league}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ValidationError

from ladder.database.db import Connection
from ladder.entries import medal_lines
from ladder.errors import LadderError
from ladder.leagues import league_update, seasons
from ladder.leagues.records import League
from ladder.leagues.request_models import LeagueChange, LineMedals
from ladder.people.permissions import may_appoint
from ladder.people.records import Viewer
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.http.problems import ProblemError
from services.web import form_texts, forms
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
def show_form(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Shows the form to hosts."""
    found = permissions.hosted_league(conn, who, league)
    return render_form(request, conn, who, found, Form(values_of_league(conn, who, found)))


@router.post(PATH)
def change_league(
    request: Request, league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Changes the league and shows it, or the form with its errors."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    present = values_of_league(conn, who, found)
    form = Form.of(given, present)
    edited = merge_edits(form, given, present)
    try:
        asked = LeagueChange.model_validate(request_of_fields(edited))
        lines = lines_of_fields(form, edited)
        if not form.wrong:
            with conn.transaction():
                league_update.change_league(conn, who, found, asked)
                if lines is not None:
                    season = seasons.current_season(conn, found.id)
                    assert season is not None
                    medal_lines.change_medal_lines(conn, who, season.id, lines.medals)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
    if form.wrong:
        return render_form(request, conn, who, found, form)
    return redirect(f"/leagues/{found.slug}?done=edited")


class LinesForm(BaseModel):
    """The medal lines of the form. An error has the place of the field: ``medals.gold``."""

    medals: LineMedals


def values_of_league(conn: Connection, who: Viewer, league: League) -> dict[str, str]:
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
    season = seasons.current_season(conn, league.id)
    if season is not None and medal_lines.may_move_lines(conn, season):
        values |= {name: field_text(season.medals[name.rpartition(".")[2]]) for name in LINES}
    return values


def merge_edits(form: Form, given: Mapping[str, Any], present: Mapping[str, str]) -> dict[str, str]:
    """Returns the fields that the visitor changed since the page showed them.

    The form's other fields get their present value. A field that someone else has changed too gets
    an error. Raises ProblemError if the page showed other fields, for example because the visitor
    was a host then and is a co-host now.
    """
    was_shown = {name for name in (*present, *OF_HOSTS, *LINES) if f"shown.{name}" in given}
    if was_shown != present.keys():
        raise ProblemError("invalid", form_texts.STALE_FORM)
    edited = {}
    for name, now in present.items():
        sent, shown = plain_text(form.values[name]), given[f"shown.{name}"]
        if sent == plain_text(shown):
            form.values[name] = now
            continue
        edited[name] = sent
        if plain_text(now) not in (sent, plain_text(shown)):
            form.wrong[name] = form_texts.CHANGED_MEANWHILE.format(now)
    return edited


def plain_text(text: str) -> str:
    """The text without what a browser changes in a field: line ends and spaces around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def request_of_fields(edited: Mapping[str, str]) -> dict[str, Any]:
    """The API request that changes these fields alone."""
    asked: dict[str, Any] = {name: text for name, text in edited.items() if name not in LINES}
    if "same_team_lineups" in asked:
        asked["same_team_lineups"] = bool(asked["same_team_lineups"])
    return asked


def lines_of_fields(form: Form, edited: Mapping[str, str]) -> LinesForm | None:
    """The medal lines, if one of them changes. Raises ValidationError."""
    if not any(name in edited for name in LINES):
        return None
    lines = {name.rpartition(".")[2]: form.values[name] for name in LINES}
    return LinesForm.model_validate({"medals": {"kind": "lines", **lines}})


def render_form(
    request: Request, conn: Connection, who: Viewer, league: League, form: Form
) -> Response:
    """Shows the form, with the present values hidden in it; 422 with its errors."""
    return render(
        request,
        "edit_league.html",
        status=422 if form.wrong else 200,
        form=form,
        shown=values_of_league(conn, who, league),
        lines=LINES,
        league=league,
        may="leagues:write" in who.scopes or who.is_admin,
    )
