"""Invitations to teams: by a link, or by name."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.field_types import AwareDatetime, Name
from ladder.ids import TeamInvitationId
from ladder.people import team_invitations
from services.api.teams import TeamOut
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Known, Writer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import TeamInvitationKey, TeamKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["teams"], route_class=LazyRoute)


class TeamInvitationOut(BaseModel):
    """An invitation without its code."""

    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["tin_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    team_id: str
    team_name: str
    user_id: str | None = Field(description="the only person who may use it; null: anybody")
    user_name: str | None
    by_name: str | None
    max_uses: int
    uses: int
    created_at: datetime
    expires_at: datetime
    state: team_invitations.InvitationState


class NewTeamInvitation(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"max_uses": 3}]})
    person: Annotated[
        Name | None, Field(description="name or id of the only person who may use it")
    ] = None
    max_uses: Annotated[int, Field(ge=1, le=100, description="of a link for anybody")] = 1
    expires_at: Annotated[
        AwareDatetime | None, Field(description="default: in a week; at most 90 days from now")
    ] = None


class MadeTeamInvitation(TeamInvitationOut):
    """A new invitation with its code. The code is shown only once and not stored: a repeated
    Idempotency-Key gets null instead."""

    code: str | None = Field(examples=["team_..."])
    path: str | None = Field(description="page of this site on which a person joins with the code")


class TeamCode(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"code": "team_..."}]}
    )
    code: Annotated[str, Field(max_length=100)]


@router.post(
    "/teams/{team}/invitations",
    status_code=201,
    summary="Invite people to a team",
    response_model=MadeTeamInvitation,
    responses=problem_responses(403, 404, 409),
)
def create_team_invitation(
    team: TeamKey, body: NewTeamInvitation, conn: Db, who: Writer, once: Idempotent
) -> Response:
    """Owners only. With `person` the invitation also waits for that person, who accepts or declines
    it. Without, anybody with the code may join, up to `max_uses` people."""
    found = permissions.visible_team(conn, who, team)

    def create() -> MadeTeamInvitation:
        made, code = team_invitations.invite(
            conn,
            found.id,
            who,
            person=body.person,
            max_uses=body.max_uses,
            expires_at=body.expires_at,
        )
        shown = TeamInvitationOut.model_validate(made)
        path = team_invitations.path_of_code(code)
        return MadeTeamInvitation(**shown.model_dump(), code=code, path=path)

    hidden = {"code": None, "path": None}
    return once.run(create, keep=lambda made: made.model_copy(update=hidden))


@router.get(
    "/teams/{team}/invitations",
    summary="List a team's invitations",
    responses=problem_responses(403, 404),
)
def list_team_invitations(
    team: TeamKey, conn: Db, who: Known, span: Paging
) -> Page[TeamInvitationOut]:
    """Newest first, for members and administrators, with those that can no longer be used."""
    found = permissions.team_for_members_and_admins(conn, who, team)
    rows = team_invitations.list_invitations(conn, found.id, span.after, span.limit)
    return span.page(rows, lambda row: row.id, TeamInvitationOut.model_validate)


@router.delete(
    "/teams/{team}/invitations/{invitation}",
    summary="Revoke an invitation to a team",
    responses=problem_responses(403, 404),
)
def revoke_team_invitation(
    team: TeamKey, invitation: TeamInvitationKey, conn: Db, who: Writer
) -> TeamInvitationOut:
    """Owners only. People who joined by it stay. Repeating it changes nothing."""
    found = permissions.visible_team(conn, who, team)
    return TeamInvitationOut.model_validate(
        team_invitations.revoke_invitation(conn, found.id, TeamInvitationId(invitation), who)
    )


@router.get("/users/me/team-invitations", summary="List invitations to you")
def list_own_team_invitations(conn: Db, who: Known, span: Paging) -> Page[TeamInvitationOut]:
    """The invitations by name that wait for your answer, newest first."""
    assert who.user_id is not None
    rows = team_invitations.invitations_to(conn, who.user_id, span.after, span.limit)
    return span.page(rows, lambda row: row.id, TeamInvitationOut.model_validate)


@router.post(
    "/users/me/team-invitations/{invitation}/accept",
    summary="Accept an invitation to a team",
    responses=problem_responses(403, 404, 409),
)
def accept_team_invitation(invitation: TeamInvitationKey, conn: Db, who: Writer) -> TeamOut:
    """Makes you a member. Repeating it changes nothing."""
    assert who.user_id is not None
    joined = team_invitations.accept_invitation(conn, who.user_id, TeamInvitationId(invitation))
    return TeamOut.model_validate(joined)


@router.post(
    "/users/me/team-invitations/{invitation}/decline",
    summary="Decline an invitation to a team",
    responses=problem_responses(403, 404, 409),
)
def decline_team_invitation(
    invitation: TeamInvitationKey, conn: Db, who: Writer
) -> TeamInvitationOut:
    """Declines for good. Repeating it changes nothing."""
    assert who.user_id is not None
    return TeamInvitationOut.model_validate(
        team_invitations.decline_invitation(conn, who.user_id, TeamInvitationId(invitation))
    )


@router.post(
    "/join-team/invitation",
    summary="Read the invitation of a code",
    responses=problem_responses(403, 404, 409),
)
def read_team_code(body: TeamCode, conn: Db, who: Known) -> TeamInvitationOut:
    """Says which team the code admits to. An expired, revoked or used-up code answers 409, and one
    for another person 403."""
    assert who.user_id is not None
    return TeamInvitationOut.model_validate(
        team_invitations.read_link(conn, who.user_id, body.code)
    )


@router.post(
    "/join-team", summary="Join a team with a code", responses=problem_responses(403, 404, 409)
)
def join_team(body: TeamCode, conn: Db, who: Writer) -> TeamOut:
    """Makes you a member of the team. If it competes in a season in which you compete for another
    team, the answer is 409. Repeating it changes nothing."""
    assert who.user_id is not None
    return TeamOut.model_validate(team_invitations.join_by_link(conn, who.user_id, body.code))
