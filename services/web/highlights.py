"""Pages and feeds of games worth watching, and the buttons by which hosts pin matches."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from ladder.database.db import Connection
from ladder.leagues.records import League
from ladder.people.records import Viewer
from ladder.reports import highlights
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.auth import Anyone
from services.leagues.things import VisibleLeague
from services.matches.things import VisibleMatch
from services.web import forms
from services.web.account import redirect
from services.web.atom_feeds import feed_response
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
FIRST_DAY: Final = date(2020, 1, 1)
Day = Annotated[date | None, Query(ge=FIRST_DAY, le=date(9000, 1, 1))]


@router.get("/watch")
def show_all(request: Request, conn: Db, viewer: Anyone, day: Day = None) -> Response:
    """The games worth watching of all leagues that the visitor may see."""
    return _page(request, conn, viewer, None, day)


@router.get("/watch.atom")
def send_all(request: Request, conn: Db, viewer: Anyone) -> Response:
    """The same as an Atom feed."""
    return _feed(request, conn, viewer, None)


@router.get("/leagues/{league}/watch")
def show_of_league(
    request: Request, league: VisibleLeague, conn: Db, viewer: Anyone, day: Day = None
) -> Response:
    """The games worth watching of a league; pinned ones come first."""
    return _page(request, conn, viewer, league, day)


@router.get("/leagues/{league}/watch.atom")
def send_of_league(request: Request, league: VisibleLeague, conn: Db, viewer: Anyone) -> Response:
    """The same as an Atom feed."""
    return _feed(request, conn, viewer, league)


@router.post("/matches/{match}/pin")
def pin(match: VisibleMatch, conn: Db, viewer: Anyone, given: forms.Sent) -> Response:
    """Pins the match to the top of its league."""
    league = permissions.hosted_league(conn, viewer, match.league_id)
    auth.check_scopes(viewer, ["leagues:write"])
    highlights.pin_match(conn, league.id, match.id, viewer.user_id)
    return redirect(f"/matches/{match.id}")


@router.post("/matches/{match}/unpin")
def unpin(match: VisibleMatch, conn: Db, viewer: Anyone, given: forms.Sent) -> Response:
    """Takes the match from the top of its league."""
    league = permissions.hosted_league(conn, viewer, match.league_id)
    auth.check_scopes(viewer, ["leagues:write"])
    highlights.unpin_match(conn, league.id, match.id, viewer.user_id)
    return redirect(f"/matches/{match.id}")


def _page(
    request: Request, conn: Connection, viewer: Viewer, league: League | None, day: date | None
) -> Response:
    today = datetime.now(UTC).date()
    shown = day or today
    return render(
        request,
        "watch.html",
        league=league,
        day=day,
        before=shown - timedelta(days=1) if shown > FIRST_DAY else None,
        after=shown + timedelta(days=1) if shown < today else None,
        found=highlights.list_highlights(conn, viewer, league=league, day=day),
    )


def _feed(request: Request, conn: Connection, viewer: Viewer, league: League | None) -> Response:
    found = highlights.list_highlights(conn, viewer, league=league)
    title = f"{league.title}: games worth watching" if league else "Games worth watching"
    return feed_response(
        request,
        title,
        f"watch:{league.id if league else 'all'}",
        highlights.feed_entries(found),
        is_private=False,
    )
