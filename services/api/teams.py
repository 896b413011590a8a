"""Teams: the competitors of a ladder."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.database.db import Connection
from ladder.entries import team_dissolution
from ladder.enums import Json
from ladder.field_types import Key, Name, Slug
from ladder.ids import TeamId, UserId
from ladder.people import administration, team_audits, teams, users
from ladder.people.records import Viewer
from ladder.reports import team_results
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Admin, Anyone, Known, Writer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import TeamKey, UserKey
from services.http.problems import ProblemError, problem_responses

router = APIRouter(prefix="/v1", tags=["teams"], route_class=LazyRoute)


class TeamOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["tea_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    slug: str = Field(examples=["night-geese"])
    name: str = Field(examples=["Night Geese"])
    created_at: datetime
    ended_at: datetime | None = Field(
        default=None, description="when it was dissolved or merged; null: it lives"
    )
    merged_into: str | None = Field(default=None, description="team that it became part of")


class NewTeam(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Night Geese"}]}
    )
    name: Name
    slug: Annotated[Slug | None, Field(description="default: made from the name")] = None
    owner: Annotated[
        Key | None, Field(description="user id, for administrators; default: the caller")
    ] = None


class TeamChange(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Day Geese"}]}
    )
    name: Name


class NewTeamMember(BaseModel):
    model_config = ConfigDict(extra="forbid")
    user: Key
    is_owner: bool = False


class NewOwner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    user: Annotated[Key, Field(description="id of a member")]


class TeamMemberOut(BaseModel):
    id: str = Field(examples=["usr_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    name: str
    is_owner: bool


class TeamRecordOut(BaseModel):
    """Results against one other team. Each match counts once, by the best seat of each team."""

    model_config = ConfigDict(from_attributes=True)
    team_id: str
    team_name: str
    games: int
    wins: int
    losses: int
    ties: int


class TeamActOut(BaseModel):
    """One line of the team's log. ``subject`` is the id of a person, a team or an invitation."""

    model_config = ConfigDict(from_attributes=True)
    id: str
    by_user: str | None
    by_name: str | None
    act: str = Field(examples=["rename"])
    subject: str
    subject_name: str | None
    details: dict[str, Json]
    created_at: datetime


@router.post(
    "/teams",
    status_code=201,
    summary="Create a team",
    response_model=TeamOut,
    responses=problem_responses(403, 404, 409),
)
def create_team(body: NewTeam, conn: Db, who: Writer, once: Idempotent) -> Response:
    """You become its owner. A name that is reserved, taken, or looks like another team's or
    person's name is refused. Administrators may name another owner and any free name."""
    assert who.user_id is not None
    caller = who.user_id
    if body.owner is not None and body.owner != caller and not who.is_admin:
        raise ProblemError("forbidden", "Leave out the owner: you can make only teams of your own.")

    def create() -> TeamOut:
        if body.owner is None or not who.is_admin:
            return TeamOut.model_validate(teams.make_team(conn, body.name, caller, body.slug))
        owner = users.get_user(conn, UserId(body.owner))
        slug = body.slug or users.team_slug(body.name)
        return TeamOut.model_validate(users.create_team(conn, body.name, slug, owner.id))

    return once.run(create)


@router.get("/teams/{team}", summary="Read a team", responses=problem_responses(404))
def read_team(team: TeamKey, conn: Db, who: Anyone) -> TeamOut:
    """Answers 404 if the team plays only in leagues hidden from the caller."""
    return TeamOut.model_validate(permissions.visible_team(conn, who, team))


@router.patch("/teams/{team}", summary="Rename a team", responses=problem_responses(403, 404, 409))
def rename_team(team: TeamKey, body: TeamChange, conn: Db, who: Writer) -> TeamOut:
    """Owners only. The slug changes with the name; the id stays."""
    found = permissions.visible_team(conn, who, team)
    return TeamOut.model_validate(teams.rename_team(conn, found.id, body.name, who))


@router.delete(
    "/teams/{team}",
    status_code=204,
    summary="Dissolve a team",
    responses=problem_responses(403, 404, 409),
)
def dissolve_team(team: TeamKey, conn: Db, who: Writer) -> Response:
    """Owners only, for good. Its entries of unfinished seasons retire, and all members leave.
    Finished results stay."""
    found = permissions.visible_team(conn, who, team)
    team_dissolution.dissolve_team(conn, found.id, who)
    return Response(status_code=204)


@router.get(
    "/teams/{team}/members", summary="List a team's members", responses=problem_responses(403, 404)
)
def list_team_members(team: TeamKey, conn: Db, who: Known) -> Page[TeamMemberOut]:
    """In order of joining, for the team, for hosts of its leagues and for administrators."""
    found = permissions.visible_team(conn, who, team)
    if not permissions.may_see_people(conn, who, found):
        raise ProblemError("forbidden", "Only the team and hosts of its leagues see its people.")
    return Page(items=member_rows(conn, found.id))


def member_rows(conn: Connection, team_id: TeamId) -> list[TeamMemberOut]:
    return [
        TeamMemberOut(id=user.id, name=user.name, is_owner=owns)
        for user, owns in users.team_members(conn, team_id)
    ]


@router.get(
    "/teams/{team}/opponents",
    summary="Compare a team with the teams that it met",
    responses=problem_responses(404),
)
def list_opponents(team: TeamKey, conn: Db, who: Anyone) -> Page[TeamRecordOut]:
    """From the newest rated matches of its agents that the caller may see; the teams that it met
    most often come first."""
    found = permissions.visible_team(conn, who, team)
    rows = team_results.head_to_heads(conn, who, found.id)
    return Page(items=[TeamRecordOut.model_validate(row) for row in rows])


@router.post(
    "/teams/{team}/members",
    status_code=204,
    summary="Add a member",
    responses=problem_responses(403, 404, 409),
)
def add_team_member(team: TeamKey, body: NewTeamMember, conn: Db, who: Admin) -> None:
    """Administrators only, and only other people; others invite. Adding a member again changes
    nothing."""
    found = permissions.visible_team(conn, who, team)
    administration.add_to_team(conn, who, found.id, UserId(body.user), is_owner=body.is_owner)


@router.delete(
    "/teams/{team}/members/{user}",
    status_code=204,
    summary="Leave a team, or remove a member",
    responses=problem_responses(403, 404, 409),
)
def remove_team_member(team: TeamKey, user: UserKey, conn: Db, who: Writer) -> Response:
    """You may leave with `me`; owners may remove members. Who leaves still competes for this team
    in its seasons. The last owner hands the team over first."""
    found = permissions.visible_team(conn, who, team)
    teams.remove_member(conn, found.id, _user_id(who, user), who)
    return Response(status_code=204)


@router.put(
    "/teams/{team}/owner",
    summary="Hand a team over",
    responses=problem_responses(403, 404, 409),
)
def hand_over_team(team: TeamKey, body: NewOwner, conn: Db, who: Writer) -> Page[TeamMemberOut]:
    """Owners only: makes a member the owner, and the caller an ordinary member."""
    found = permissions.visible_team(conn, who, team)
    teams.hand_over(conn, found.id, UserId(body.user), who)
    return Page(items=member_rows(conn, found.id))


@router.get(
    "/teams/{team}/acts",
    summary="Read what people did with a team",
    responses=problem_responses(403, 404),
)
def list_team_acts(team: TeamKey, conn: Db, who: Known, span: Paging) -> Page[TeamActOut]:
    """Newest first, for members and administrators."""
    found = permissions.team_for_members_and_admins(conn, who, team)
    rows = team_audits.list_team_acts(conn, found.id, after=span.after, limit=span.limit)
    return span.page(rows, lambda row: row.id, TeamActOut.model_validate)


def _user_id(who: Viewer, key: str) -> UserId:
    return UserId(str(who.user_id) if key == "me" else key)
