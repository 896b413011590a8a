"""Sign-in, sign-out, and the visitor's own page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.entries.records import Agent, Entry
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League
from ladder.people import tokens, users
from ladder.people.records import Team, Viewer
from ladder.reports import feed
from ladder.scrims import scrims
from services.http.app_state import Db
from services.web import formatting, session
from services.web.page_rendering import HEADERS, PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
NEWS_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One of the visitor's agents with its newest entry."""

    agent: Agent
    entry: Entry | None
    score: float | None
    """None without an entry, or if a match has one seat."""


@dataclass(frozen=True, slots=True)
class LimitRow:
    """How much a team may still submit to a league today."""

    league: League
    team: Team
    limits: entries.UploadLimits


@router.get("/sign-in")
def show_sign_in(
    request: Request, who: Visitor, onward: Annotated[str, Query(alias="next")] = "/me"
) -> Response:
    """Shows the form. A visitor who is signed in is redirected."""
    if who.user_id:
        return redirect(safe_redirect_path(onward))
    return render(request, "sign_in.html", next=safe_redirect_path(onward), wrong=None)


@router.post("/sign-in")
def sign_in(
    request: Request,
    conn: Db,
    token: Annotated[str, Form(max_length=200)] = "",
    form_token: Annotated[str, Form(max_length=200)] = "",
    onward: Annotated[str, Form(alias="next", max_length=500)] = "/me",
) -> Response:
    """Creates a session from a pasted token."""
    session.check_form(request, form_token)
    text = token.strip()
    if users.viewer_of_token(conn, text) is None:
        return render(
            request,
            "sign_in.html",
            status=422,
            next=safe_redirect_path(onward),
            wrong=formatting.LOGIN_FAILED,
        )
    response = redirect(safe_redirect_path(onward))
    session.set_cookie(
        request, response, session.SESSION, session.seal_token(request, text), session.LIFE_SECONDS
    )
    return response


@router.post("/sign-out")
def sign_out(request: Request, form_token: Annotated[str, Form(max_length=200)] = "") -> Response:
    """Ends the session in this browser."""
    session.check_form(request, form_token)
    response = redirect("/")
    response.delete_cookie(session.SESSION, path="/", httponly=True, samesite="lax")
    return response


@router.get("/me")
def show_me(request: Request, conn: Db, who: Visitor) -> Response:
    """Shows the visitor's agents, feed, scrims, limits and tokens."""
    if who.user_id is None:
        return redirect("/sign-in?next=/me")
    teams = users.teams_of(conn, who.user_id)
    return render(
        request,
        "me.html",
        teams=teams,
        agents=[row for team in teams for row in agent_rows(conn, who, team)],
        news=feed.latest_items(conn, who, limit=NEWS_SHOWN),
        scrims=scrims.list_scrims(conn, [team.id for team in teams], None, 10),
        limits=[row for team in teams for row in limit_rows(conn, team)],
        tokens=tokens.list_tokens(conn, who.user_id),
    )


def agent_rows(conn: Connection, who: Viewer, team: Team) -> list[AgentRow]:
    """A team's agents, each with its newest entry."""
    rows = []
    for agent in agents.list_agents(conn, viewer=who, team_id=team.id, limit=100):
        newest = entries.list_entries(conn, agent_id=agent.id, limit=1)
        entry = newest[0] if newest else None
        season = seasons.get_season(conn, entry.season_id) if entry else None
        score = None
        if entry is not None and season is not None and not season.measures:
            score = entry.mu + season.score_offset
        rows.append(AgentRow(agent, entry, score))
    return rows


def limit_rows(conn: Connection, team: Team) -> list[LimitRow]:
    """The team's upload limits in its open leagues."""
    rows = []
    for league_id in agents.leagues_of_team(conn, team.id):
        league = leagues.get_league(conn, league_id)
        season = seasons.current_season(conn, league_id)
        if season is None or league.state == "closed":
            continue
        limits = entries.upload_limits(conn, season.id, team.id)
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
