"""The page of a scrim, for those who see its results."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.field_types import KEY
from ladder.ids import MatchId
from ladder.leagues import leagues
from ladder.matches import history
from ladder.matches.match_titles import lineup_title
from ladder.people.records import Viewer
from ladder.scrims import forks, scrims
from ladder.scrims.scrims import Scrim
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import ScrimKey
from services.web import form_texts, formatting, forms
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MATCHES_SHOWN = 50


@router.get("/scrims/{scrim}")
def show_scrim(
    request: Request,
    scrim: ScrimKey,
    conn: Db,
    who: Visitor,
    before: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows progress, win rates with their intervals, and the games."""
    found = permissions.visible_scrim(conn, who, scrim)
    return render_scrim(request, "scrim.html", conn, who, found, before)


@router.post("/scrims/{scrim}/cancel")
def cancel_scrim(scrim: ScrimKey, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Stops the unfinished games, as the API does."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/scrims/{scrim}"))
    auth.check_scopes(who, ["scrims:write"])
    found = permissions.own_scrim(conn, who, scrim)
    with conn.transaction():
        scrims.cancel_scrim(conn, found.id)
    return redirect(f"/scrims/{found.id}")


@router.get("/scrims/{scrim}/progress")
def show_progress(request: Request, scrim: ScrimKey, conn: Db, who: Visitor) -> Response:
    """The progress alone, for live updates. Asks the page to reload once the scrim is over."""
    found = permissions.visible_scrim(conn, who, scrim)
    if found.state != "running":
        return Response(status_code=205)
    return render_scrim(request, "parts/scrim.html", conn, who, found, None)


def render_scrim(
    request: Request,
    template: str,
    conn: Connection,
    who: Viewer,
    found: Scrim,
    before: str | None,
) -> Response:
    games = history.list_matches(
        conn,
        scrim_id=found.id,
        before=MatchId(before) if before else None,
        limit=MATCHES_SHOWN,
    )
    rows = [
        (score, agents.get_submission(conn, score.submission_id).version)
        for score in scrims.scrim_summary(conn, found.id)
    ]
    fork = forks.read_fork(conn, found.id)
    return render(
        request,
        template,
        scrim=found,
        fork=fork,
        origin=lineup_title(history.get_match(conn, fork.match_id)) if fork else "",
        outcomes=forks.seat_outcomes(conn, found, fork) if fork else [],
        is_asker=permissions.may_see_private(who, found.team_id),
        audience_words=form_texts.AUDIENCES,
        log_words=form_texts.LOG_AUDIENCES,
        league=leagues.get_league(conn, found.league_id),
        summary=rows,
        matches=games,
        older=games[-1].id if len(games) == MATCHES_SHOWN else None,
    )
