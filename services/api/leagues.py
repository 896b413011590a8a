"""Leagues, their members, and the seasons of a league."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from games import GAMES
from ladder.entries.league_setup import set_up_league
from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.errors import Invalid
from ladder.ids import LeagueId
from ladder.leagues import league_update, leagues, seasons
from ladder.leagues.records import League
from ladder.leagues.request_models import LeagueChange, NewLeague
from ladder.people.records import Viewer
from ladder.reports import season_health
from services.api.entries import EntryOut
from services.api.entries import entry_out as shown_entry
from services.api.seasons import SeasonOut
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Host
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import LeagueKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["leagues"], route_class=LazyRoute)


class GameOut(BaseModel):
    """A game this installation can play, with its default configuration."""

    name: str = Field(examples=["hungry_geese"])
    title: str = Field(examples=["Hungry Geese"])
    version: str
    min_seats: int
    max_seats: int
    configuration: dict[str, Any]


class LeagueOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["lea_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    slug: str = Field(examples=["geese"])
    title: str = Field(examples=["Hungry Geese, every day"])
    description: str
    game: str = Field(examples=["hungry_geese"])
    visibility: Visibility
    replay_visibility: ReplayVisibility
    state: str = Field(examples=["open"])
    same_team_lineups: bool
    takes_requests: bool = Field(description="whether people may ask to join")
    live_delay_seconds: int = Field(description="seconds by which people see running matches late")
    created_at: datetime
    current_season: str | None = Field(default=None, examples=["sea_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    role: LeagueRole | None = Field(default=None, description="the caller's role")


class CreatedLeagueOut(LeagueOut):
    season: SeasonOut | None = None
    anchors: list[EntryOut] = Field(default_factory=list)
    lacking: str | None = Field(
        default=None,
        description="why the season cannot play yet; null if its seats can be filled",
        examples=["2 of 16 seats can be filled: add an agent or an anchor"],
    )


def league_out(conn: Db, who: Viewer, league: League) -> LeagueOut:
    (out,) = leagues_out(conn, who, [league])
    return out


def leagues_out(conn: Db, who: Viewer, rows: Sequence[League]) -> list[LeagueOut]:
    current = seasons.current_seasons(conn, [row.id for row in rows])
    listed = []
    for row in rows:
        out = LeagueOut.model_validate(row)
        out.current_season, out.role = current.get(row.id), who.roles.get(row.id)
        listed.append(out)
    return listed


@router.get("/games", summary="List games", tags=["games"])
def list_games() -> Page[GameOut]:
    """Lists the games that a league can use."""
    return Page(
        items=[
            GameOut(
                name=game.name,
                title=game.title,
                version=game.version,
                min_seats=game.seats.start,
                max_seats=game.seats.stop - 1,
                configuration=game.configure({}),
            )
            for game in GAMES.values()
        ]
    )


@router.get("/leagues", summary="List leagues")
def list_leagues(conn: Db, who: Anyone, span: Paging) -> Page[LeagueOut]:
    """Lists the leagues that the caller may see."""
    rows = leagues.list_leagues(conn, who, LeagueId(span.after) if span.after else None, span.limit)
    listed = leagues_out(conn, who, rows)
    return span.page(listed, lambda out: out.id, lambda out: out)


@router.post(
    "/leagues",
    status_code=201,
    summary="Create a league",
    response_model=CreatedLeagueOut,
    responses=problem_responses(403, 404, 409, 429),
)
def create_league(
    body: NewLeague, conn: Db, app_state: AppState, who: Host, once: Idempotent
) -> Response:
    """The caller becomes host. `season` creates the first season; `anchors` adds the reference
    agents it names. `fill` adds more until one agent can play. The call creates all of this or
    nothing."""
    game = GAMES.get(body.game)
    if game is None:
        raise Invalid("game", f"choose one of {', '.join(sorted(GAMES))}")

    def create() -> CreatedLeagueOut:
        made = set_up_league(conn, app_state.blobs, body, game, who)
        out = CreatedLeagueOut(**league_out(conn, who, made.league).model_dump())
        if made.season is not None:
            out.season = SeasonOut.model_validate(made.season)
            out.anchors = [shown_entry(conn, who, entry) for entry in made.anchors]
            out.lacking = season_health.why_no_lineup(conn, made.season, made.league)
        out.role = LeagueRole.HOST
        return out

    return once.run(create)


@router.get("/leagues/{league}", summary="Read a league", responses=problem_responses(404))
def read_league(league: LeagueKey, conn: Db, who: Anyone) -> LeagueOut:
    """The league and its current season."""
    return league_out(conn, who, permissions.visible_league(conn, who, league))


@router.patch(
    "/leagues/{league}", summary="Change a league", responses=problem_responses(403, 404, 409)
)
def change_league(league: LeagueKey, body: LeagueChange, conn: Db, who: Host) -> LeagueOut:
    """Hosts and administrators only. A paused league pairs no new rated matches. Validations,
    scrims and queued matches go on. A closed league takes no uploads and pairs no matches; only a
    new season opens it again.

    Visibility never exceeds what competitors agreed to at joining. A wider setting is refused until
    each competitor agrees to the wider terms (`PUT /v1/leagues/{league}/consent`).
    """
    found = permissions.hosted_league(conn, who, league)
    return league_out(conn, who, league_update.change_league(conn, who, found, body))
