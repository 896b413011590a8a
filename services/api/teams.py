"""Teams: the competitors of a ladder."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.field_types import Key, Name, Slug
from ladder.ids import UserId
from ladder.people import users
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Admin, Anyone
from services.http.idempotency import Idempotent
from services.http.path_parameters import TeamKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["teams"])


class TeamOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["tea_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    slug: str = Field(examples=["night-geese"])
    name: str = Field(examples=["Night Geese"])
    created_at: datetime


class NewTeam(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Night Geese", "slug": "night-geese"}]},
    )
    name: Name
    slug: Slug
    owner: Annotated[Key | None, Field(description="user id; default: the caller")] = None


class NewTeamMember(BaseModel):
    model_config = ConfigDict(extra="forbid")
    user: Key
    is_owner: bool = False


@router.post(
    "/teams",
    status_code=201,
    summary="Create a team",
    response_model=TeamOut,
    responses=problem_responses(403, 404, 409),
)
def create_team(body: NewTeam, conn: Db, who: Admin, once: Idempotent) -> Response:
    """Administrators only. The owner is the named user, or the caller."""
    assert who.user_id is not None
    owner = UserId(body.owner) if body.owner else who.user_id

    def create() -> TeamOut:
        users.get_user(conn, owner)
        return TeamOut.model_validate(users.create_team(conn, body.name, body.slug, owner))

    return once.run(create)


@router.get("/teams/{team}", summary="Read a team", responses=problem_responses(404))
def read_team(team: TeamKey, conn: Db, who: Anyone) -> TeamOut:
    """Answers 404 if the team plays only in leagues hidden from the caller."""
    return TeamOut.model_validate(permissions.visible_team(conn, who, team))


@router.post(
    "/teams/{team}/members",
    status_code=204,
    summary="Add a member",
    responses=problem_responses(403, 404),
)
def add_team_member(team: TeamKey, body: NewTeamMember, conn: Db, who: Admin) -> None:
    """Administrators only. Adding a member again changes nothing."""
    found = permissions.visible_team(conn, who, team)
    users.get_user(conn, UserId(body.user))
    users.add_team_member(conn, found.id, UserId(body.user), is_owner=body.is_owner)
