"""Invitation codes of leagues, and how people join a league by one."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from ladder import ids
from ladder.database.db import (
    Connection,
    atomic_function,
    exists,
    fetch,
    fetch_one,
    fetch_optional,
    insert,
    update,
)
from ladder.enums import LeagueRole, Visibility
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, AwareDatetime, Line, RequestModel, ShownOnce
from ladder.ids import InvitationId, LeagueId, TeamId, UserId
from ladder.leagues import leagues, members, terms
from ladder.leagues.members import PLAIN
from ladder.leagues.records import League
from ladder.leagues.terms import Digest
from ladder.notices.kinds import EventSubject, NoticeKind, record_event
from ladder.people import quotas, teams, users
from ladder.people.records import STAFF
from ladder.people.tokens import LETTERS
from ladder.slugs import name_key

PREFIX: Final = "join_"
RANDOM_CHARS: Final = 24
INVITATION: Final = """
    select i.id, i.league_id, i.role, i.label, i.max_uses, u.uses, i.expires_at, i.revoked_at,
           i.created_at
    from invitations i
    cross join lateral (select count(*) as uses from joinings where invitation_id = i.id) u
"""
VALID: Final = """
    join leagues l on l.id = i.league_id
    where i.hash = %(hash)s
      and i.revoked_at is null
      and l.state <> 'closed'
      and (l.visibility <> 'private'
           or exists (select 1 from roster r where r.invitation_id = i.id))
      and (exists (select 1 from joinings j where j.invitation_id = i.id and j.user_id = %(user)s)
           or (coalesce(i.expires_at > now(), true)
               and (i.max_uses is null or i.max_uses > u.uses)))
"""
"""Codes that admit the person ``user`` now."""
WRONG_CODE: Final = (
    "this code is mistyped, expired, revoked or used up; ask the host of the league for a new one"
)


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation without the text of its code."""

    __pydantic_config__ = RECORD
    id: Annotated[InvitationId, Field(examples=["inv_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    league_id: LeagueId
    role: LeagueRole
    label: str
    max_uses: int | None
    uses: int
    """Number of people who joined with the code."""
    expires_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MadeInvitation(Invitation):
    """An invitation with its code, which is shown only once. A repeated request gets null."""

    code: Annotated[ShownOnce, Field(examples=["join_8Zk3..."])]


class NewInvitation(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"role": "competitor", "max_uses": 30}]}
    )
    role: Literal["competitor", "viewer"] = "competitor"
    label: Line = ""
    max_uses: Annotated[int, Field(ge=1, le=100_000)] | None = None
    expires_at: AwareDatetime | None = None


class InvitationCode(RequestModel):
    code: Annotated[str, Field(max_length=100, examples=["join_8Zk3..."])]


class JoinWithCode(InvitationCode):
    terms: Digest


@atomic_function
def create_invitation(
    conn: Connection,
    league_id: LeagueId,
    *,
    role: LeagueRole | str,
    created_by: UserId | None,
    label: str = "",
    max_uses: int | None = None,
    expires_at: datetime | None = None,
) -> tuple[Invitation, str]:
    """Creates an invitation; returns it and its code, which is shown only once.

    Raises Conflict in a private league, where hosts add members. Raises Invalid for the role of
    host, and LimitReached.
    """
    if leagues.get_league(conn, league_id).visibility is Visibility.PRIVATE:
        raise Conflict(
            "visibility: change it to invitation, or add members by role; a"
            " private league takes no codes"
        )
    invitation = create_roster_invitation(
        conn,
        league_id,
        role=role,
        created_by=created_by,
        label=label,
        max_uses=max_uses,
        expires_at=expires_at,
    )
    quotas.check_invitation_quota(conn, league_id)
    return invitation


def create_roster_invitation(
    conn: Connection,
    league_id: LeagueId,
    *,
    role: LeagueRole | str,
    created_by: UserId | None,
    label: str,
    max_uses: int | None,
    expires_at: datetime | None = None,
) -> tuple[Invitation, str]:
    """Creates an invitation for a person on the roster; works in any league."""
    if LeagueRole(role) not in PLAIN:
        raise Invalid("role", "a code can make competitors or viewers; hosts give other roles")
    code = PREFIX + "".join(secrets.choice(LETTERS) for _ in range(RANDOM_CHARS))
    invitation_id = InvitationId(ids.new_id("inv"))
    insert(
        conn,
        "invitations",
        id=invitation_id,
        league_id=league_id,
        role=LeagueRole(role).value,
        label=label,
        hash=_hash_code(code),
        max_uses=max_uses,
        expires_at=expires_at,
        created_by=created_by,
    )
    return get_invitation(conn, league_id, invitation_id), code


def get_invitation(
    conn: Connection, league_id: LeagueId, invitation_id: InvitationId
) -> Invitation:
    """Returns an invitation of this league. Raises NotFound."""
    return fetch_one(
        conn,
        Invitation,
        f"{INVITATION} where i.id = %(id)s and i.league_id = %(league)s",
        {"id": invitation_id, "league": league_id},
        missing=NotFound.of("invitation"),
    )


def list_invitations(
    conn: Connection, league_id: LeagueId, after: InvitationId | None = None, limit: int = 50
) -> list[Invitation]:
    """A league's invitations, newest first, including revoked and used ones."""
    return fetch(
        conn,
        Invitation,
        f"""
        {INVITATION}
        where i.league_id = %(league)s and (%(after)s::text is null or i.id < %(after)s)
        order by i.id desc
        limit %(limit)s
        """,
        {"league": league_id, "after": after, "limit": limit},
    )


def revoke_invitation(
    conn: Connection, league_id: LeagueId, invitation_id: InvitationId
) -> Invitation:
    """Revokes a code; its members stay. A repeat is no error. Raises NotFound."""
    conn.execute(
        """
        update invitations
        set revoked_at = coalesce(revoked_at, now())
        where id = %s and league_id = %s
        """,
        (invitation_id, league_id),
    )
    return get_invitation(conn, league_id, invitation_id)


def read_code(conn: Connection, user_id: UserId | None, code: str) -> tuple[Invitation, League]:
    """Returns the invitation and league of a code. Raises NotFound, one message for all reasons.

    For a person who has already joined by the code, it stays valid until revoked. ``user_id`` is
    None for a person without an account.
    """
    invitation = fetch_one(
        conn,
        Invitation,
        f"{INVITATION} {VALID}",
        {"hash": _hash_code(code.strip()), "user": user_id},
        missing=NotFound(WRONG_CODE, field="code"),
    )
    return invitation, leagues.get_league(conn, invitation.league_id)


def inviter_name(conn: Connection, invitation_id: InvitationId) -> str | None:
    """Name of the person who made an invitation; None without one.

    Only for readers who hold the code. The page of invitations tells the host that they see it.
    """
    return fetch_optional(
        conn,
        str,
        """
        select u.name
        from invitations i
        join users u on u.id = i.created_by
        where i.id = %(invitation)s
        """,
        {"invitation": invitation_id},
    )


def lock_code(conn: Connection, user_id: UserId | None, code: str) -> tuple[Invitation, League]:
    """Like ``read_code``, and locks the code, so it admits no more people than its limit."""
    conn.execute(
        "select 1 from invitations where hash = %s for update", (_hash_code(code.strip()),)
    )
    return read_code(conn, user_id, code)


def reserve_code(conn: Connection, invitation_id: InvitationId, user_id: UserId) -> None:
    """Counts a locked code as used by a person who signed up with it and has not joined yet."""
    insert(conn, "joinings", invitation_id=invitation_id, user_id=user_id)


def _hash_code(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()


ORDER: Final = (LeagueRole.VIEWER, LeagueRole.COMPETITOR, LeagueRole.CO_HOST, LeagueRole.HOST)


def is_wider_role(one: LeagueRole, other: LeagueRole) -> bool:
    """Whether an invitation with role ``one`` gives more rights to a member with role ``other``.

    False for graders and commentators: a code never changes their role.
    """
    return other in ORDER and ORDER.index(one) > ORDER.index(other)


@atomic_function
def join_league(
    conn: Connection, user_id: UserId, code: str, terms_digest: str
) -> tuple[Invitation, League, LeagueRole]:
    """Adds a person who agreed to the terms to a league.

    Returns the invitation, the league and the person's role. A code never lowers a role. A
    competitor without a team gets one with their own name. Raises NotFound if the code is not
    valid. Raises Conflict if the digest is not that of the current terms, or if the person is a
    grader or a commentator.
    """
    _, league = read_code(conn, user_id, code)
    terms.share_league(conn, league.id)
    invitation, league = lock_code(conn, user_id, code)
    settings = terms.settings_of_league(league)
    if terms_digest != terms.terms_digest(settings):
        raise Conflict(
            "terms: read them again; this digest is not that of the league's current terms"
        )
    members.refuse_blocked_person(conn, league.id, user_id)
    had = members.role_of(conn, league.id, user_id)
    if had in STAFF:
        raise Conflict(f"you are {had} of this league: you cannot take another role by a code")
    has_joined = exists(
        conn,
        """
        select 1 from joinings
        where invitation_id = %(invitation)s and user_id = %(user)s and joined_at is not null
        """,
        {"invitation": invitation.id, "user": user_id},
    )
    if has_joined and had is None:
        raise NotFound(WRONG_CODE, field="code")  # a host has removed this member
    role = invitation.role if had is None else max(invitation.role, had, key=ORDER.index)
    if has_joined and had is not None:
        role = had
    leagues.set_member_role(conn, league.id, user_id, role)
    terms.write_agreement(conn, league.id, user_id, settings)
    conn.execute(
        """
        insert into joinings as j (invitation_id, user_id, joined_at)
        values (%(invitation)s, %(user)s, now())
        on conflict (invitation_id, user_id) do update set joined_at = excluded.joined_at
        where j.joined_at is null
        """,
        {"invitation": invitation.id, "user": user_id},
    )
    _join_as_roster_line(conn, invitation.id, user_id, role)
    if had is None:
        about = EventSubject(league_id=league.id, user_id=user_id)
        record_event(conn, NoticeKind.MEMBER_JOINED, about)
    if role is LeagueRole.COMPETITOR and not users.teams_of(conn, user_id):
        users.create_own_team(conn, users.get_user(conn, user_id).name, user_id)
    return invitation, league, role


def _join_as_roster_line(
    conn: Connection, invitation_id: InvitationId, user_id: UserId, role: LeagueRole
) -> None:
    """If the code belongs to a roster line, links the person to it and to its team.

    A host who tries a code joins no team, because a team's private data is not for hosts.
    """
    row = conn.execute(
        "select league_id, team from roster where invitation_id = %s and user_id is null",
        (invitation_id,),
    ).fetchone()
    if row is None:
        return
    team_id = None
    if row[1] and role is LeagueRole.COMPETITOR:
        team_id = _join_roster_team(conn, row[0], row[1], user_id)
    update(conn, "roster", {"invitation_id": invitation_id}, user_id=user_id, team_id=team_id)


def _join_roster_team(conn: Connection, league_id: LeagueId, name: str, user_id: UserId) -> TeamId:
    """Adds a person to the roster's team of this name; the first one to join creates it.

    The team keeps its place in the roster if it is renamed, and loses it if it is merged or
    dissolved. Raises the Conflict of `teams.add_member`.
    """
    digest = team_digest(name)
    conn.execute("select pg_advisory_xact_lock(hashtext(%s))", (f"{league_id} {digest.hex()}",))
    team_id = fetch_optional(
        conn,
        TeamId,
        """
        select t.id
        from roster_teams r
        join teams t on t.id = r.team_id
        where r.league_id = %(league)s and r.name_digest = %(digest)s and t.ended_at is null
        """,
        {"league": league_id, "digest": digest},
    )
    if team_id is None:
        slug = leagues.get_league(conn, league_id).slug
        team = users.create_own_team(conn, name, user_id, f"{name} ({slug})")
        conn.execute(
            """
            insert into roster_teams (league_id, name_digest, team_id)
            values (%s, %s, %s)
            on conflict (league_id, name_digest) do update set team_id = excluded.team_id
            """,
            (league_id, digest, team.id),
        )
        return team.id
    if all(team.id != team_id for team in users.teams_of(conn, user_id)):
        teams.add_member(conn, team_id, user_id, user_id)
    return team_id


def team_digest(name: str) -> bytes:
    """SHA-256 of the key of a roster team's name: names stand elsewhere."""
    return hashlib.sha256(name_key(name).encode()).digest()
