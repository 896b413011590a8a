"""Merges of two teams: one asks, the other agrees."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.entries import team_merges
from ladder.field_types import Key
from ladder.ids import TeamMergeId
from services.api.teams import TeamOut
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Known, Writer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page
from services.http.path_parameters import TeamKey, TeamMergeKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["teams"], route_class=LazyRoute)


class TeamMergeOut(BaseModel):
    """An open request: the team wants to become part of the other one."""

    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["tme_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    team_id: str
    team_name: str
    into_team_id: str
    into_team_name: str
    created_at: datetime
    expires_at: datetime


class NewTeamMerge(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"into": "night-geese"}]}
    )
    into: Annotated[Key, Field(description="id or slug of the team that remains")]


@router.post(
    "/teams/{team}/merges",
    status_code=201,
    summary="Ask another team for a merge",
    response_model=TeamMergeOut,
    responses=problem_responses(403, 404, 409),
)
def ask_for_merge(
    team: TeamKey, body: NewTeamMerge, conn: Db, who: Writer, once: Idempotent
) -> Response:
    """Owners only. Your team becomes part of the other one if an owner of that one agrees within a
    week. Uploads must be open where your team competes, and both teams together may not have made
    more of them than one team could."""
    found = permissions.visible_team(conn, who, team)
    other = permissions.visible_team(conn, who, body.into)
    return once.run(
        lambda: TeamMergeOut.model_validate(
            team_merges.ask_for_merge(conn, found.id, other.id, who)
        )
    )


@router.get(
    "/teams/{team}/merges",
    summary="List open requests for a merge",
    responses=problem_responses(403, 404),
)
def list_merges(team: TeamKey, conn: Db, who: Known) -> Page[TeamMergeOut]:
    """From and to the team, newest first, for members and administrators."""
    found = permissions.team_for_members_and_admins(conn, who, team)
    rows = team_merges.list_merges(conn, found.id)
    return Page(items=[TeamMergeOut.model_validate(row) for row in rows])


@router.post(
    "/team-merges/{merge}/accept",
    summary="Agree to a merge",
    responses=problem_responses(403, 404, 409),
)
def accept_merge(merge: TeamMergeKey, conn: Db, who: Writer) -> TeamOut:
    """Owners of the team that remains only, for good. Members, agents and entries of unfinished
    seasons move to it."""
    asked = permissions.team_merge_of_member(conn, who, merge)
    return TeamOut.model_validate(team_merges.accept_merge(conn, asked.id, who))


@router.delete(
    "/team-merges/{merge}",
    status_code=204,
    summary="Decline or withdraw a merge",
    responses=problem_responses(403, 404),
)
def end_merge(merge: TeamMergeKey, conn: Db, who: Writer) -> Response:
    """Owners of either team only."""
    asked = permissions.team_merge_of_member(conn, who, merge)
    team_merges.end_merge(conn, TeamMergeId(asked.id), who)
    return Response(status_code=204)
