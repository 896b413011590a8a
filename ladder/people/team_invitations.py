"""Invites people to a team: by a link for whoever has it, or one person by name.

An invitation's code is ``team_`` and 24 random characters; only its SHA-256 is stored. A person who
is invited by name also finds the invitation on their page.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from ladder import ids
from ladder.database.db import Connection, atomic_function, exists, fetch, fetch_one, insert
from ladder.errors import Conflict, Forbidden, Invalid, NotFound
from ladder.field_types import RECORD, AwareDatetime, Name, RequestModel, ShownOnce
from ladder.ids import TeamId, TeamInvitationId, UserId
from ladder.people import competitors, teams, users
from ladder.people.records import Team, Viewer
from ladder.people.teams import record_team_act
from ladder.people.tokens import LETTERS

PREFIX: Final = "team_"
RANDOM_CHARS: Final = 24
LIFE: Final = timedelta(days=7)
LONGEST_LIFE: Final = timedelta(days=90)
MOST_OPEN: Final = 50
"""Open invitations of a team, so that a team cannot fill the pages of others."""
USES: Final = "(select count(*) from team_joinings j where j.invitation_id = i.id)"
SELECT: Final = f"""
    select i.id, i.team_id, t.name as team_name, i.user_id, u.name as user_name,
      b.name as by_name, i.max_uses, {USES} as uses, i.created_at, i.expires_at,
      case when i.declined_at is not null then 'declined'
        when i.revoked_at is not null then 'revoked' when i.max_uses <= {USES} then 'used_up'
        when i.expires_at <= now() then 'expired' else 'open' end as state
    from team_invitations i join teams t on t.id = i.team_id
    left join users u on u.id = i.user_id left join users b on b.id = i.created_by"""
OPEN: Final = f"""i.declined_at is null and i.revoked_at is null and i.expires_at > now()
    and i.max_uses > {USES}"""
WRONG_LINK: Final = (
    "there is no such invitation: copy the whole link, or ask the team for a new one"
)


class InvitationState(StrEnum):
    """Whether an invitation can be used."""

    OPEN = "open"
    DECLINED = "declined"
    REVOKED = "revoked"
    USED_UP = "used_up"
    EXPIRED = "expired"


REFUSALS: Final = {
    InvitationState.DECLINED: "you declined this invitation: ask the team for a new one",
    InvitationState.REVOKED: "the team revoked this invitation: ask it for a new one",
    InvitationState.USED_UP: "this invitation is used up: ask the team for a new one",
    InvitationState.EXPIRED: "this invitation has expired: ask the team for a new one",
}


@dataclass(frozen=True, slots=True)
class TeamInvitation:
    """An invitation without its code."""

    __pydantic_config__ = RECORD
    id: Annotated[TeamInvitationId, Field(examples=["tin_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    team_id: TeamId
    team_name: str
    user_id: UserId | None
    """The only person who may use it; null: anybody."""
    user_name: str | None
    by_name: str | None
    """Name of the person who made it."""
    max_uses: int
    uses: int
    created_at: datetime
    expires_at: datetime
    state: InvitationState


@dataclass(frozen=True, slots=True)
class MadeTeamInvitation(TeamInvitation):
    """A new invitation with its code. A repeated Idempotency-Key gets null instead of the code."""

    __pydantic_config__ = RECORD
    code: Annotated[ShownOnce, Field(examples=["team_..."])]
    path: ShownOnce
    """Page of this site on which a person joins with the code."""


class NewTeamInvitation(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"max_uses": 3}]})
    person: Annotated[Name | None, Field(title="Name of a person")] = None
    """The only person who may use it. Leave it empty for a link that works for anybody."""
    max_uses: Annotated[int, Field(ge=1, le=100, title="People")] = 1
    """How many people may use a link for anybody."""
    expires_at: AwareDatetime | None = None
    """When it ends: in a week by default, at most 90 days from now."""


class TeamCode(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"code": "team_..."}]})
    code: Annotated[str, Field(max_length=100)]


@atomic_function
def invite(
    conn: Connection, team_id: TeamId, viewer: Viewer, invitation: NewTeamInvitation
) -> MadeTeamInvitation:
    """Creates an invitation. Owners and administrators may.

    Raises Forbidden, Invalid, NotFound for the person, and Conflict for a member, a second open
    invitation of one person, or too many open ones.
    """
    competitors.lock_team(conn, team_id)
    teams.require_owner(conn, team_id, viewer)
    until = _checked_end(invitation.expires_at)
    person = invitation.person
    user_id = None if person is None else _invited_person(conn, team_id, person)
    count = fetch_one(
        conn,
        int,
        f"select count(*) from team_invitations i where i.team_id = %s and {OPEN}",
        (team_id,),
    )
    if count >= MOST_OPEN:
        raise Conflict(f"revoke an invitation first: the team has {MOST_OPEN} open ones")
    code = PREFIX + "".join(secrets.choice(LETTERS) for _ in range(RANDOM_CHARS))
    invitation_id = TeamInvitationId(ids.new_id("tin"))
    insert(
        conn,
        "team_invitations",
        id=invitation_id,
        team_id=team_id,
        user_id=user_id,
        hash=_hash_code(code),
        max_uses=1 if user_id else invitation.max_uses,
        created_by=viewer.user_id,
        expires_at=until,
    )
    record_team_act(conn, team_id, viewer.user_id, "invite", user_id or invitation_id)
    link = _get(conn, f"{SELECT} where i.id = %s", invitation_id)
    return MadeTeamInvitation(**asdict(link), code=code, path=f"/join-team?code={code}")


def list_invitations(
    conn: Connection, team_id: TeamId, after: str | None = None, limit: int = 50
) -> list[TeamInvitation]:
    """A team's invitations, newest first, including those that can no longer be used."""
    query = f"""{SELECT}
        where i.team_id = %(team_id)s and (%(after)s::text is null or i.id < %(after)s)
        order by i.id desc limit %(limit)s"""
    return fetch(conn, TeamInvitation, query, {"team_id": team_id, "after": after, "limit": limit})


def open_invitations(conn: Connection, team_id: TeamId) -> list[TeamInvitation]:
    """The invitations of a team that can be used, newest first; there are at most MOST_OPEN."""
    query = f"{SELECT} where i.team_id = %s and {OPEN} order by i.id desc"
    return fetch(conn, TeamInvitation, query, (team_id,))


def invitations_to(
    conn: Connection, user_id: UserId, after: str | None = None, limit: int = 50
) -> list[TeamInvitation]:
    """The invitations that wait for this person's answer, newest first."""
    query = f"""{SELECT} where i.user_id = %(user_id)s and {OPEN} and t.ended_at is null
          and (%(after)s::text is null or i.id < %(after)s)
        order by i.id desc limit %(limit)s"""
    return fetch(conn, TeamInvitation, query, {"user_id": user_id, "after": after, "limit": limit})


@atomic_function
def revoke_invitation(
    conn: Connection, team_id: TeamId, invitation_id: TeamInvitationId, viewer: Viewer
) -> TeamInvitation:
    """Revokes an invitation; people who joined by it stay. A repeat is no error.

    Raises NotFound, Conflict for an ended team, and Forbidden for others than owners and
    administrators.
    """
    competitors.lock_team(conn, team_id)
    teams.require_owner(conn, team_id, viewer)
    query = """update team_invitations set revoked_at = now()
        where id = %(invitation_id)s and team_id = %(team_id)s and revoked_at is null"""
    changed = conn.execute(query, {"invitation_id": invitation_id, "team_id": team_id})
    invitation = _get(conn, f"{SELECT} where i.team_id = %s and i.id = %s", team_id, invitation_id)
    if changed.rowcount:
        record_team_act(conn, team_id, viewer.user_id, "revoke", invitation_id)
    return invitation


def read_link(conn: Connection, user_id: UserId, code: str) -> TeamInvitation:
    """The invitation of a code, if this person may use it.

    Raises NotFound for a code that does not exist. Raises Forbidden for an invitation of another
    person, and Conflict if it is declined, revoked, used up or expired.
    """
    invitation = _get(conn, f"{SELECT} where i.hash = %s", _hash_code(code.strip()))
    _refuse_unusable(conn, invitation, user_id)
    return invitation


@atomic_function
def join_by_link(conn: Connection, user_id: UserId, code: str) -> Team:
    """Makes a person a member of the team of a code. Joining again changes nothing.

    Raises the errors of `read_link` and `teams.add_member`.
    """
    return _join(
        conn, user_id, _get(conn, f"{SELECT} where i.hash = %s", _hash_code(code.strip())).id
    )


@atomic_function
def accept_invitation(conn: Connection, user_id: UserId, invitation_id: TeamInvitationId) -> Team:
    """Makes the invited person a member. Raises the errors of `join_by_link`."""
    _own_invitation(conn, user_id, invitation_id)
    return _join(conn, user_id, invitation_id)


@atomic_function
def decline_invitation(
    conn: Connection, user_id: UserId, invitation_id: TeamInvitationId
) -> TeamInvitation:
    """Declines an invitation for good. A repeat is no error. Raises the errors of `read_link`."""
    invitation = _own_invitation(conn, user_id, invitation_id)
    competitors.lock_team(conn, invitation.team_id)
    invitation = _own_invitation(conn, user_id, invitation_id)
    if invitation.state is not InvitationState.DECLINED:
        _refuse_unusable(conn, invitation, user_id)
        conn.execute(
            "update team_invitations set declined_at = now() where id = %s", (invitation_id,)
        )
        record_team_act(conn, invitation.team_id, user_id, "decline", invitation_id)
    return _own_invitation(conn, user_id, invitation_id)


def _join(conn: Connection, user_id: UserId, invitation_id: TeamInvitationId) -> Team:
    # All joins of a team take turns, so an invitation admits no more people than its limit.
    competitors.lock_team(conn, _get(conn, f"{SELECT} where i.id = %s", invitation_id).team_id)
    invitation = _get(conn, f"{SELECT} where i.id = %s", invitation_id)
    team = users.get_team(conn, invitation.team_id)
    if invitation.user_id in (None, user_id) and _is_member(conn, team.id, user_id):
        return team
    _refuse_unusable(conn, invitation, user_id)
    insert(conn, "team_joinings", invitation_id=invitation_id, user_id=user_id)
    teams.add_member(conn, team.id, user_id, user_id)
    return team


def _refuse_unusable(conn: Connection, invitation: TeamInvitation, user_id: UserId) -> None:
    if invitation.user_id not in (None, user_id):
        raise Forbidden("This invitation is for another person. Ask the team for one of your own.")
    used = exists(
        conn,
        "select 1 from team_joinings where invitation_id = %s and user_id = %s",
        (invitation.id, user_id),
    )
    if used and not _is_member(conn, invitation.team_id, user_id):
        raise Conflict("you used this invitation before: ask the team for a new one", field="code")
    if invitation.state in REFUSALS and not used:
        raise Conflict(REFUSALS[invitation.state], field="code")


def _own_invitation(
    conn: Connection, user_id: UserId, invitation_id: TeamInvitationId
) -> TeamInvitation:
    """The invitation of this person by name. Raises NotFound for any other."""
    return _get(conn, f"{SELECT} where i.id = %s and i.user_id = %s", invitation_id, user_id)


def _invited_person(conn: Connection, team_id: TeamId, person: str) -> UserId:
    user_id = users.find_user(conn, person)
    if user_id is None:
        raise NotFound(
            "check the name: nobody with this name has an account; a link works for anybody",
            field="person",
        )
    name = users.get_user(conn, user_id).name
    if _is_member(conn, team_id, user_id):
        raise Conflict(f"{name} is already a member", field="person")
    is_invited = exists(
        conn,
        f"select 1 from team_invitations i where i.team_id = %s and i.user_id = %s and {OPEN}",
        (team_id, user_id),
    )
    if is_invited:
        raise Conflict(f"{name} has an open invitation; wait for the answer", field="person")
    return user_id


def _checked_end(expires_at: datetime | None) -> datetime:
    now = datetime.now(UTC)
    if expires_at is None:
        return now + LIFE
    if not now < expires_at <= now + LONGEST_LIFE:
        raise Invalid(
            "expires_at", f"choose a time within the next {LONGEST_LIFE.days} days from now"
        )
    return expires_at


def _is_member(conn: Connection, team_id: TeamId, user_id: UserId) -> bool:
    return exists(
        conn, "select 1 from memberships where team_id = %s and user_id = %s", (team_id, user_id)
    )


def _hash_code(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()


def _get(conn: Connection, query: str, *values: object) -> TeamInvitation:
    return fetch_one(conn, TeamInvitation, query, values, NotFound(WRONG_LINK, field="code"))
