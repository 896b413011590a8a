"""The button by which a host plays one match of reference agents."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ladder.errors import Conflict, LimitReached
from ladder.scrims import rehearsals
from services.http import auth, permissions
from services.http.app_state import AppState, Db
from services.http.path_parameters import LeagueKey
from services.web import forms
from services.web.account import redirect
from services.web.leagues import league_page
from services.web.page_rendering import PageRoute
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.post("/leagues/{league}/rehearsal")
def rehearse(
    request: Request,
    league: LeagueKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Queues the match as the API does, and shows its page."""
    found = permissions.hosted_league(conn, who, league)
    auth.check_scopes(who, ["leagues:write"])
    assert who.user_id is not None
    try:
        made = rehearsals.request_rehearsal(conn, found.id, who.user_id)
    except (Conflict, LimitReached) as error:
        return league_page(request, conn, app_state, who, found, rehearsal_error=str(error))
    return redirect(f"/matches/{made.match_id}")
