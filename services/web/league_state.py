"""The buttons by which a host pauses or resumes a league and ends its season."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import ValidationError

from ladder.errors import NotFound
from ladder.leagues import league_update, seasons
from ladder.leagues.request_models import LeagueChange
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.http.problems import ProblemError
from services.web import forms
from services.web.account import redirect
from services.web.page_rendering import PageRoute
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.post("/leagues/{league}/state")
def change_state(league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Pauses or resumes the league."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, ["leagues:write"])
    try:
        asked = LeagueChange.model_validate({"state": given.get("state", "")})
    except ValidationError:
        raise ProblemError("invalid", "choose open or paused.", where="state") from None
    league_update.change_league(conn, who, found, asked)
    return redirect(f"/leagues/{found.slug}")


@router.post("/leagues/{league}/end")
def end_season(league: LeagueKey, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Finishes a season of the league, after the host ticked the confirmation."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, ["leagues:write"])
    asked = given.get("season", "")
    known = [one for one in seasons.list_seasons(conn, found.id) if one.id == asked]
    if not known:
        raise NotFound.of("season")
    if given.get("sure") != "yes":
        raise ProblemError(
            "invalid", "tick the box first: a finished season cannot open again.", where="sure"
        )
    league_update.change_season_state(conn, who, known[0].id, "finished")
    return redirect(f"/leagues/{found.slug}?season={known[0].number}")
