"""Rehearsals: a host sees one match of reference agents, before the league opens if they like."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.scrims import rehearsals
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Host
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import LeagueKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["leagues"], route_class=LazyRoute)


class RehearsalOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    scrim_id: str = Field(examples=["scr_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    match_id: str = Field(examples=["mat_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    agents: list[str] = Field(description="names by seat", examples=[["Greedy", "Survivor"]])


@router.post(
    "/leagues/{league}/rehearsals",
    status_code=201,
    summary="Rehearse a league",
    response_model=RehearsalOut,
    responses=problem_responses(403, 404, 409, 429),
)
def create_rehearsal(league: LeagueKey, conn: Db, who: Host, once: Idempotent) -> Response:
    """Hosts and administrators only. Queues one match of reference agents in the newest season,
    also before it opens. The match rates nobody, and only your first team sees it."""
    found = permissions.hosted_league(conn, who, league)

    def create() -> RehearsalOut:
        assert who.user_id is not None
        made = rehearsals.request_rehearsal(conn, found.id, who.user_id)
        return RehearsalOut.model_validate(made)

    return once.run(create)
