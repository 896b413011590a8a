"""The visitor's own page: agents, news, scrims and limits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from ladder.database.db import Connection
from ladder.entries import agents, deadlines
from ladder.ids import UserId
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League
from ladder.people import team_invitations, users
from ladder.people.records import Team
from ladder.reports import feed
from ladder.scrims import requests as scrim_requests
from ladder.scrims import scrims
from services.agents import my_agents
from services.http.app_state import AppState, Db
from services.http.auth import Known
from services.web.page_rendering import HEADERS, PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
NEWS_SHOWN: Final = 12
LEAGUES_SHOWN: Final = 20
INVITATIONS_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class LimitRow:
    """How much a team may still submit to a league today."""

    league: League
    team: Team
    limits: deadlines.UploadLimits


@router.get("/me")
def show_me(request: Request, conn: Db, app_state: AppState, viewer: Known) -> Response:
    """Shows the visitor's agents, feed, scrims and limits."""
    user_id = UserId(str(viewer.user_id))
    teams = users.teams_of(conn, user_id)
    invitations = team_invitations.invitations_to(conn, user_id, limit=INVITATIONS_SHOWN + 1)
    return render(
        request,
        "me.html",
        teams=teams,
        agents=my_agents.agent_cards(conn, app_state, viewer, teams),
        news=feed.latest_items(conn, viewer, limit=NEWS_SHOWN),
        scrims=scrims.list_scrims(conn, viewer, [team.id for team in teams], None, 10),
        asked=scrim_requests.count_waiting(conn, [team.id for team in teams]),
        limits=[row for team in teams for row in limit_rows(conn, team)],
        invitations=invitations[:INVITATIONS_SHOWN],
        has_more_invitations=len(invitations) > INVITATIONS_SHOWN,
        leagues=[
            (leagues.get_league(conn, league), viewer.roles[league])
            for league in sorted(viewer.roles, reverse=True)[:LEAGUES_SHOWN]
        ],
    )


def limit_rows(conn: Connection, team: Team) -> list[LimitRow]:
    """The team's upload limits in its open leagues."""
    rows = []
    for league_id in agents.leagues_of_team(conn, team.id):
        league = leagues.get_league(conn, league_id)
        season = seasons.current_season(conn, league_id)
        if season is None or league.state == "closed":
            continue
        limits = deadlines.upload_limits(conn, season.id, team.id)
        is_extended = limits.closes_at is not None and limits.closes_at > datetime.now(UTC)
        if season.state == "open" or (season.state == "locked" and is_extended):
            rows.append(LimitRow(league, team, limits))
    return rows


def safe_redirect_path(address: str) -> str:
    """The address if it is a path of this site, else the visitor's own page."""
    plain = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if plain and address.isprintable() else "/me"


def redirect(address: str) -> RedirectResponse:
    return RedirectResponse(address, status_code=303, headers=dict(HEADERS))
