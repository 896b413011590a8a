"""The form that creates a league's next season, with the settings of its newest one."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from games.protocol import Game
from ladder.database.db import Connection
from ladder.entries.league_setup import open_next_season
from ladder.errors import LadderError
from ladder.leagues import seasons
from ladder.leagues.kept_settings import KEPT_SETTINGS
from ladder.leagues.records import League, Season
from ladder.leagues.request_models import NewSeason
from ladder.people.records import Viewer
from services.http import auth, permissions
from services.http.app_state import AppState, Db
from services.http.league_games import game_of
from services.http.path_parameters import LeagueKey
from services.http.problems import ProblemError
from services.web import forms, season_fields
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/leagues/{league}/new-season"
SCOPES: Final = ("leagues:write",)
OF_DATES: Final = {"", "zone", *season_fields.DATES}
"""Errors of these fields leave the other settings folded."""


class SeasonForm(BaseModel):
    """The request of the form. An error has the place of the field: ``season.seats``."""

    model_config = ConfigDict(extra="forbid")
    season: NewSeason


@router.get(PATH)
def show_form(request: Request, league: LeagueKey, conn: Db, who: Visitor) -> Response:
    """Shows the form to hosts."""
    found = permissions.hosted_league(conn, who, league)
    game, newest = game_of(found), newest_season(conn, found)
    form = Form(first_values(game, newest))
    return render_form(request, conn, who, found, form)


@router.post(PATH)
def create_season(
    request: Request,
    league: LeagueKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Creates the season and shows the league, or the form with its errors."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, SCOPES)
    game = game_of(found)
    form = Form.of(given, first_values(game, newest_season(conn, found)))

    def make() -> None:
        values = season_fields.request_values(form)
        fill = bool(values.pop("fill", ""))
        body = SeasonForm.model_validate(forms.nest_names(values))
        try:
            open_next_season(conn, app_state.blobs, who, found, body.season, game, fill=fill)
        except LadderError as error:
            error.field = f"season.{error.field}" if error.field else None
            raise

    try:
        form.run_once(request, conn, who, make)
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
    if form.wrong:
        return render_form(request, conn, who, found, form, status=422)
    return redirect(f"/leagues/{found.slug}?done=season")


def newest_season(conn: Connection, league: League) -> Season | None:
    """The season whose settings the next one takes; it may not have opened yet."""
    return next(iter(seasons.list_seasons(conn, league.id)), None)


def first_values(game: Game[Any], newest: Season | None) -> dict[str, str]:
    """The newest season's settings without its dates.

    A setting that it lacks gets its default, since the game may have gained it.
    """
    settings = season_fields.default_settings(game)
    if newest:
        kept: dict[str, Any] = {name: getattr(newest, name) for name in KEPT_SETTINGS}
        for name in ("clock", "configuration"):
            kept[name] = settings[name] | kept[name]
        settings |= kept
    return season_fields.values_of_settings(game, settings)


def render_form(
    request: Request, conn: Connection, who: Viewer, league: League, form: Form, status: int = 200
) -> Response:
    """Shows the form with the choices of the game and of the machines that play now."""
    game, newest = game_of(league), newest_season(conn, league)
    return render(
        request,
        "new_season.html",
        status=status,
        form=form,
        league=league,
        newest=newest,
        number=newest.number + 1 if newest else 1,
        game=game,
        is_open=bool(set(form.wrong) - OF_DATES),
        **season_fields.choices_of_game(conn, game, form),
        may="leagues:write" in who.scopes or who.is_admin,
    )
