"""Seasons: a ladder of a league for a limited time, with one game, configuration and clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.entries import daily_uploads, medal_lines
from ladder.entries.league_setup import open_next_season
from ladder.leagues import league_update, seasons, terms
from ladder.leagues.measures import Measure
from ladder.leagues.request_models import LineMedals, Medals, NewSeason
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Host, Known
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.league_games import game_of
from services.http.paging import Page
from services.http.path_parameters import Filter, LeagueKey, SeasonKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["seasons"], route_class=LazyRoute)


class SeasonOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["sea_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    league_id: str
    number: int
    game: str
    configuration: dict[str, Any]
    clock: dict[str, Any]
    seats: int
    memory_mb: int
    max_bundle_bytes: int
    daily_limit: int
    scrim_games_daily: int = Field(description="scrim games that a team may request in a day")
    active_limit: int | None = Field(
        description="number of an agent's newest submissions that play; null: all"
    )
    team_active_limit: int | None = Field(
        description="number of a team's newest submissions that play, over all its agents;"
        " null: all"
    )
    mu0: float
    sigma0: float
    beta: float
    tau: float
    draw_probability: float
    fault_rule: str
    medals: Medals = Field(description="the medal rules, by rank or by official score")
    medal_confidence: float = Field(
        description="a medal is sealed after the upload lock if its probability reaches this "
        "number in three standings; each standing must have a twentieth more results "
        "than the one before"
    )
    stops_when_sealed: bool = Field(
        description="end the season once every medal is sealed, at ends_at at the latest"
    )
    opens_at: datetime
    closes_at: datetime | None
    ends_at: datetime | None
    state: str = Field(examples=["open"])
    measures: list[Measure] = Field(
        description="the measures that rank the season if a match has one seat; else empty"
    )
    remote_agents: bool = Field(description="whether it takes remote agents. " + terms.REMOTE)
    speed_class: str = Field(description="speed class of its machines; any: all machines play it")
    revision: int = Field(description="grows with each change of the leaderboard")


class SeasonChange(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"state": "locked"}]})
    state: Literal["open", "locked", "finished"] | None = None
    medals: LineMedals | None = Field(
        default=None, description="other medal lines, until uploads close"
    )


class UploadLimitsOut(BaseModel):
    """How many more uploads a team may make today."""

    model_config = ConfigDict(from_attributes=True)
    used: int
    allowed: int
    left: int
    resets_at: datetime
    closes_at: datetime | None = Field(
        description="upload lock of this team, including an extension"
    )


@router.get("/leagues/{league}/seasons", summary="List seasons", responses=problem_responses(404))
def list_seasons(league: LeagueKey, conn: Db, who: Anyone) -> Page[SeasonOut]:
    """Lists the seasons, newest first."""
    found = permissions.visible_league(conn, who, league)
    rows = seasons.list_seasons(conn, found.id)
    return Page(items=[SeasonOut.model_validate(row) for row in rows])


@router.post(
    "/leagues/{league}/seasons",
    status_code=201,
    summary="Create a season",
    response_model=SeasonOut,
    responses=problem_responses(403, 404, 409, 429),
)
def create_season(
    league: LeagueKey,
    body: NewSeason,
    conn: Db,
    app_state: AppState,
    who: Host,
    once: Idempotent,
) -> Response:
    """Hosts and administrators only. Settings that affect results cannot change later. A closed
    league opens again. Reference agents that medal lines name become anchors."""
    found = permissions.hosted_league(conn, who, league)

    def create() -> SeasonOut:
        made = open_next_season(conn, app_state.blobs, who, found, body, game_of(found))
        return SeasonOut.model_validate(made)

    return once.run(create)


@router.get("/seasons/{season}", summary="Read a season", responses=problem_responses(404))
def read_season(season: SeasonKey, conn: Db, who: Anyone) -> SeasonOut:
    """Takes a season id, or a league's slug for its current season."""
    return SeasonOut.model_validate(permissions.visible_season(conn, who, season))


@router.patch(
    "/seasons/{season}",
    summary="Lock or finish a season, or move its medal lines",
    responses=problem_responses(403, 404, 409),
)
def change_season(season: SeasonKey, body: SeasonChange, conn: Db, who: Host) -> SeasonOut:
    """Hosts and administrators only. A locked season takes no uploads. A finished season plays no
    more matches. The audit log shows each change."""
    changed = permissions.hosted_season(conn, who, season)[0]
    if body.medals is not None:
        changed = medal_lines.change_medal_lines(conn, who, changed.id, body.medals)
    if body.state is not None:
        changed = league_update.change_season_state(conn, who, changed.id, body.state)
    return SeasonOut.model_validate(changed)


@router.get(
    "/seasons/{season}/limits",
    summary="Read the uploads left today",
    responses=problem_responses(403, 404),
)
def read_limits(season: SeasonKey, conn: Db, who: Known, team: Filter = None) -> UploadLimitsOut:
    """For the caller's team. Name the team if there are several."""
    found = permissions.visible_season(conn, who, season)
    playing = permissions.team_to_act_for(conn, who, team)
    return UploadLimitsOut.model_validate(daily_uploads.upload_limits(conn, found.id, playing.id))
