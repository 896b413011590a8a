"""Pages that list tournaments: those of a league, and all that the visitor may see."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from ladder.field_types import KEY
from ladder.ids import TournamentId
from ladder.leagues import records
from ladder.people.permissions import may_manage
from ladder.tournaments import tournaments, views
from ladder.tournaments.views import summarize
from services.http import permissions
from services.http.app_state import Db
from services.http.path_parameters import LeagueKey
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.tournament_parts import PageNumber

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SHOWN: Final = 30


@router.get("/leagues/{league}/tournaments")
def show_tournaments(
    request: Request,
    league: LeagueKey,
    conn: Db,
    who: Visitor,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """The tournaments of a league, newest first."""
    found = permissions.visible_league(conn, who, league)
    rows = tournaments.list_tournaments(
        conn, who, found.id, after=TournamentId(after) if after else None, limit=SHOWN
    )
    return render(
        request,
        "tournaments.html",
        league=found,
        summaries=summarize(conn, who, rows),
        older=rows[-1].id if len(rows) == SHOWN else None,
        runs=may_manage(who, records.league_resource(found)),
    )


@router.get("/tournaments")
def show_all_tournaments(
    request: Request, conn: Db, who: Visitor, page: PageNumber = 1
) -> Response:
    """The tournaments of all leagues that the visitor may see, those that are not over first."""
    rows = tournaments.list_tournaments_by_end(
        conn, who, offset=(page - 1) * SHOWN, limit=SHOWN + 1
    )
    found = summarize(conn, who, rows[:SHOWN])
    running = [one for one in found if one.state in views.PLAYED]
    over = [one for one in found if one.state.is_over]
    return render(
        request,
        "all_tournaments.html",
        groups=[
            ("Running", running),
            ("Coming", [one for one in found if one not in running and one not in over]),
            ("Over", over),
        ],
        page=page,
        has_more=len(rows) > SHOWN,
    )
