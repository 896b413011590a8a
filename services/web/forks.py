"""The form that forks a match at one of its steps: the same request as the API's."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.leagues import leagues, seasons
from ladder.matches.match_titles import lineup_title
from ladder.matches.records import Match
from ladder.people import users
from ladder.people.records import Viewer
from ladder.scrims import forks as fork_rows
from ladder.scrims import scrims
from services.http import auth, forks
from services.http.app_state import AppState, Db
from services.http.forks import NewFork
from services.http.path_parameters import MatchKey
from services.http.problems import ProblemError
from services.web import formatting, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PATH: Final = "/matches/{match}/fork"
SCOPES: Final = ("scrims:write",)


@router.get(PATH)
def show_fork_form(
    request: Request,
    match: MatchKey,
    conn: Db,
    who: Visitor,
    episode: Annotated[int, Query(ge=0, le=1000)] = 0,
    step: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """Shows the form for this step. An anonymous visitor signs in first."""
    if who.user_id is None:
        back = {"episode": str(episode), "step": str(step)}
        return redirect(formatting.sign_in_address(f"/matches/{match}/fork", **back))
    found = forks.forkable_match(conn, who, match)
    values = {**default_values(found), "episode": str(episode), "step": str(step)}
    return render_form(request, conn, who, found, Form(values))


@router.post(PATH)
def fork_match(
    request: Request,
    match: MatchKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Requests the fork and shows it, or the form with its errors."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/matches/{match}/fork"))
    auth.check_scopes(who, SCOPES)
    found = forks.forkable_match(conn, who, match)
    form = Form.of(given, default_values(found))

    def make() -> str:
        body = NewFork.model_validate(request_of_form(form, len(found.seats)))
        return forks.request_fork(conn, app_state, who, found, body).id

    made = ""
    try:
        made = form.run_once(request, conn, who, make)
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
    if form.wrong:
        return render_form(request, conn, who, found, form)
    return redirect(f"/scrims/{made}")


def default_values(match: Match) -> dict[str, str]:
    by_seat = {f"{name}.{seat}": "" for name in ("seats", "moves") for seat in seats_of(match)}
    return {"episode": "0", "step": "0", "draws": "record", "games": "5", "team": "", **by_seat}


def seats_of(match: Match) -> range:
    return range(len(match.seats))


def request_of_form(form: Form, seats: int) -> dict[str, Any]:
    """The API request of the form, without empty fields."""
    values = form.values
    asked: dict[str, Any] = {
        name: values[name] for name in ("episode", "step", "draws", "games", "team") if values[name]
    }
    asked["seats"] = [values[f"seats.{seat}"] or None for seat in range(seats)]
    asked["moves"] = {
        str(seat): [parse_move(text) for text in values[f"moves.{seat}"].split(";") if text.strip()]
        for seat in range(seats)
        if values[f"moves.{seat}"]
    }
    return asked


def parse_move(text: str) -> object:
    """A move as typed: JSON, or else a text."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text.strip()


def render_form(
    request: Request, conn: Connection, who: Viewer, match: Match, form: Form
) -> Response:
    assert who.user_id is not None
    position = form.values["episode"]
    is_second = position.isdecimal() and int(position[:6]) % 2 == 1
    seated = sorted(match.seats, key=lambda seat: seat.seat, reverse=is_second)
    teams = users.teams_of(conn, who.user_id)
    chosen = [team for team in teams if team.slug == form.values["team"]] or teams
    season = seasons.get_season(conn, match.season_id)
    choices = fork_rows.agents_for_forks(conn, season, [team.id for team in chosen])
    usable = {choice.agent_id for choice in choices}
    return render(
        request,
        "fork.html",
        status=422 if form.wrong else 200,
        form=form,
        match=match,
        title=lineup_title(match),
        league=leagues.get_league(conn, match.league_id),
        seated=seated,
        choices=choices,
        usable=usable,
        teams=[("", "Choose a team")] + [(team.slug, team.name) for team in teams],
        most_games=scrims.MOST_GAMES,
    )
