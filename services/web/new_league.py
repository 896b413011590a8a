"""The form that creates a league: the same request as ``POST /v1/leagues``."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from games import GAMES
from games.protocol import Game
from ladder.database.db import Connection
from ladder.entries.league_setup import set_up_league
from ladder.enums import ReplayVisibility, Visibility
from ladder.errors import LadderError
from ladder.leagues import leagues
from ladder.leagues.request_models import NewLeague
from ladder.people.records import Viewer
from services.http import auth
from services.http.app_state import AppState, Db
from services.http.problems import ProblemError
from services.web import form_texts, forms, season_fields
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
ADDRESS: Final = "/new-league"
SCOPES: Final = ("leagues:write",)


@router.get(ADDRESS)
def show_form(
    request: Request, conn: Db, who: Visitor, game: Annotated[str, Query(max_length=60)] = ""
) -> Response:
    """Shows the form with the defaults of a game. An anonymous visitor signs in first."""
    if who.user_id is None:
        return redirect(f"/sign-in?next={ADDRESS}")
    chosen = GAMES.get(game) or next(iter(GAMES.values()))
    return render_form(request, conn, who, chosen, Form(default_values(chosen), {"anchors": []}))


@router.post(ADDRESS)
def create_league(
    request: Request, conn: Db, app_state: AppState, who: Visitor, given: forms.Sent
) -> Response:
    """Creates the league with its first season and shows it, or the form with its errors."""
    if who.user_id is None:
        return redirect(f"/sign-in?next={ADDRESS}")
    auth.check_scopes(who, SCOPES)
    game = GAMES.get(str(given.get("game", "")))
    if game is None:
        raise ProblemError("invalid", form_texts.UNKNOWN_GAME)
    form = Form.of(given, default_values(game), ["anchors"])
    slug = ""

    def make() -> str:
        asked = request_of_form(form, game)
        if not asked["slug"] and form.values["title"]:
            asked["slug"] = leagues.free_slug(conn, form.values["title"])
        body = NewLeague.model_validate(asked)
        return set_up_league(conn, app_state.blobs, body, game, who).league.slug

    try:
        slug = form.run_once(request, conn, who, make)
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
    if form.wrong:
        return render_form(request, conn, who, game, form, status=422)
    return redirect(f"/leagues/{slug}")


def render_form(
    request: Request,
    conn: Connection,
    who: Viewer,
    game: Game[Any],
    form: Form,
    status: int = 200,
) -> Response:
    """Shows the form with the choices of the game and of the machines that play now."""
    return render(
        request,
        "new_league.html",
        status=status,
        form=form,
        game=game,
        games=GAMES.values(),
        is_open=bool(set(form.wrong) - {"", "title", "visibility"}),
        **season_fields.choices_of_game(conn, game, form),
        may="leagues:write" in who.scopes or who.is_admin,
    )


def default_values(game: Game[Any]) -> dict[str, str]:
    """Initial value of every field: the defaults of the API and of the game."""
    return {
        "title": "",
        "slug": "",
        "description": "",
        "visibility": Visibility.PUBLIC,
        "replay_visibility": ReplayVisibility.PUBLIC,
        "same_team_lineups": "",
        **season_fields.values_of_settings(game, season_fields.default_settings(game)),
    }


def request_of_form(form: Form, game: Game[Any]) -> dict[str, Any]:
    """The API request of the form, without empty fields. Raises ProblemError."""
    values = season_fields.request_values(form)
    values.setdefault("slug", form.values["slug"])
    values["description"] = form.values["description"].replace("\r\n", "\n")
    fill = bool(form.values["fill"])
    return {
        **forms.nest_names(values),
        "game": game.name,
        "anchors": form.lists["anchors"],
        "fill": fill,
    }
