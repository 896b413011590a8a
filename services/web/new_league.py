"""The form that creates a league: the same request as ``POST /v1/leagues``."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from games import GAMES
from games.protocol import Game, clock_fields
from ladder.database.db import Connection
from ladder.entries import reference_agents
from ladder.entries.league_setup import set_up_league
from ladder.enums import ReplayVisibility, Visibility
from ladder.errors import LadderError
from ladder.leagues import leagues
from ladder.leagues.request_models import Clock, NewLeague, NewSeason
from ladder.leagues.season_creation import supports_remote
from ladder.matches.workers import live_workers
from ladder.people.records import Viewer
from services.http import auth
from services.http.app_state import AppState, Db
from services.http.problems import ProblemError
from services.web import form_dates, form_texts, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
ADDRESS: Final = "/new-league"
SCOPES: Final = ("leagues:write",)
DATES: Final = ("season.opens_at", "season.closes_at", "season.ends_at")
CLASSES: Final = ("season.medals.gold", "season.medals.silver", "season.medals.bronze")
CONFIGURATION: Final = "season.configuration."
NUMBERS: Final = (
    "daily_limit",
    "scrim_games_daily",
    "active_limit",
    "team_active_limit",
    "max_bundle_bytes",
    "medal_confidence",
)


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
    classes = {worker.speed_class for worker in live_workers(conn)} - {"any"}
    return render(
        request,
        "new_league.html",
        status=status,
        form=form,
        game=game,
        games=GAMES.values(),
        zones=form_dates.time_zones(),
        configuration=[name for name in form.values if name.startswith(CONFIGURATION)],
        anchors=reference_agents.agent_names(game.name),
        is_open=bool(set(form.wrong) - {"", "title", "visibility"}),
        supports_remote=supports_remote(game),
        speed_classes=[(one, f"Speed class {one} only") for one in sorted(classes)],
        may="leagues:write" in who.scopes or who.is_admin,
    )


def default_values(game: Game[Any]) -> dict[str, str]:
    """Initial value of every field: the defaults of the API and of the game."""
    season = NewSeason().model_dump()
    clock = Clock.model_validate(dict(game.clock)).model_dump()
    set_by_clock = clock_fields(game)
    full = game.configure({})
    configuration = {name: each for name, each in full.items() if name not in set_by_clock}
    return {
        "title": "",
        "slug": "",
        "description": "",
        "visibility": Visibility.PUBLIC,
        "replay_visibility": ReplayVisibility.PUBLIC,
        "same_team_lineups": "",
        "zone": form_dates.UTC_NAME,
        **dict.fromkeys(DATES, ""),
        "season.seats": str(min(4, game.seats.stop - 1)),
        **{f"season.{name}": field_text(season[name]) for name in NUMBERS},
        **{f"season.clock.{name}": field_text(value) for name, value in clock.items()},
        "season.medals.kind": season["medals"]["kind"],
        **dict.fromkeys(CLASSES, ""),
        "season.stops_when_sealed": "",
        "season.remote_agents": "",
        "season.speed_class": season["speed_class"],
        "fill": "true",
        **{f"{CONFIGURATION}{name}": field_text(value) for name, value in configuration.items()},
    }


def field_text(value: object) -> str:
    """A default as text of a field: empty for None, whole numbers without a decimal point."""
    if value is None:
        return ""
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def request_of_form(form: Form, game: Game[Any]) -> dict[str, Any]:
    """The API request of the form, without empty fields. Raises ProblemError."""
    values: dict[str, Any] = {name: value for name, value in form.values.items() if value}
    zone = form_dates.parse_zone(values.pop("zone", form_dates.UTC_NAME))
    for name in list(values):
        if name in DATES:
            values[name] = form_dates.parse_moment(values[name], zone)
        elif name.startswith(CONFIGURATION):
            values[name] = parse_value(values[name])
        elif name in CLASSES and values.get("season.medals.kind") == "table":
            del values[name]
    values.setdefault("slug", form.values["slug"])
    values["description"] = form.values["description"].replace("\r\n", "\n")
    tree = forms.nest_names({"season.seats": "", **values})
    fill = bool(form.values["fill"])
    return {**tree, "game": game.name, "anchors": form.lists["anchors"], "fill": fill}


def parse_value(text: str) -> object:
    """A number or a word of a game's configuration."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
