"""Makes, names and hands over teams, changes their members, and keeps what people did with them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from psycopg import errors
from psycopg.types.json import Jsonb
from pydantic import ConfigDict, Field

from ladder import ids
from ladder.database.db import Connection, atomic, atomic_function, exists, fetch, fetch_one, update
from ladder.enums import Json
from ladder.errors import Conflict, Forbidden, NotFound
from ladder.field_types import RECORD, Key, Name, RequestModel, Slug
from ladder.ids import TeamId, UserId
from ladder.people import competitors, users
from ladder.people.records import Team, TeamMember, Viewer

MOST_TEAMS: Final = 20
"""Living teams that one person may make. More would let one person take many names."""
MOST_MEMBERS: Final = 100


class TeamName(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Night Geese"}]})
    name: Name
    """Everybody sees it. Up to 60 characters."""


class NewTeam(TeamName):
    slug: Slug | None = None
    """The short name in addresses; default: made from the name."""
    owner: Key | None = None
    """User id, for administrators; default: the caller."""


class NewTeamMember(RequestModel):
    user: Key
    is_owner: bool = False


class NewOwner(RequestModel):
    user: Annotated[Key, Field(title="Member")]
    """Id of a member."""


def create_team(conn: Connection, viewer: Viewer, team: NewTeam) -> Team:
    """Creates a team for the viewer, or for the owner whom an administrator names.

    Administrators may use any free name. Raises the errors of `make_team`, and Forbidden.
    """
    assert viewer.user_id is not None
    if team.owner not in (None, viewer.user_id) and not viewer.is_admin:
        raise Forbidden("Leave out the owner: you can make only teams of your own.")
    if team.owner is None or not viewer.is_admin:
        return make_team(conn, team.name, viewer.user_id, team.slug)
    owner = users.get_user(conn, UserId(team.owner))
    return users.create_team(conn, team.name, team.slug or users.team_slug(team.name), owner.id)


@atomic_function
def make_team(conn: Connection, name: str, by: UserId, slug: str | None = None) -> Team:
    """Creates a team that a person named; makes the slug from the name if none is given.

    Raises Invalid for a reserved name, Conflict for a name that is taken, or too many teams.
    """
    conn.execute("select 1 from users where id = %s for no key update", (by,))
    count = fetch_one(
        conn, int, "select count(*) from teams where created_by = %s and ended_at is null", (by,)
    )
    if count >= MOST_TEAMS:
        raise Conflict(f"dissolve a team first: you made {MOST_TEAMS} teams, which is the limit")
    _refuse_name(conn, name, by)
    team = users.create_team(conn, name, slug or _free_slug(conn, name, None), by)
    record_team_act(conn, team.id, by, "create", details={"name": name})
    return team


@atomic_function
def rename_team(conn: Connection, team_id: TeamId, name: str, viewer: Viewer) -> Team:
    """Gives a team another name, and a slug made from it. Owners and administrators may.

    Raises the errors of `make_team` and Forbidden.
    """
    competitors.lock_team(conn, team_id)
    require_owner(conn, team_id, viewer)
    _refuse_name(conn, name, viewer.user_id, team_id)
    before = users.get_team(conn, team_id)
    users.update_team_name(conn, team_id, name, _free_slug(conn, name, team_id))
    conn.execute(  # boards are kept in memory until their revision changes
        """with shown as (select id from seasons
          where id in (select season_id from entries where team_id = %(team_id)s) order by id
          for no key update)
        update seasons s set revision = revision + 1 from shown
        where s.id = shown.id""",
        {"team_id": team_id},
    )
    details = {"name": name, "before": before.name}
    record_team_act(conn, team_id, viewer.user_id, "rename", details=details)
    return users.get_team(conn, team_id)


def list_members(conn: Connection, team_id: TeamId) -> list[TeamMember]:
    """Returns the members of a team in order of joining."""
    query = """select u.id, u.name, m.is_owner from memberships m join users u on u.id = m.user_id
        where m.team_id = %(team_id)s order by m.created_at, u.id"""
    return fetch(conn, TeamMember, query, {"team_id": team_id})


def is_owner(conn: Connection, team_id: TeamId, user_id: UserId | None) -> bool:
    """Whether this person is an owner of the team."""
    return exists(
        conn,
        "select 1 from memberships where team_id = %s and user_id = %s and is_owner",
        (team_id, user_id),
    )


def require_owner(conn: Connection, team_id: TeamId, viewer: Viewer) -> None:
    """Raises Forbidden for a person who is neither an owner of the team nor an administrator."""
    if not viewer.is_admin and not is_owner(conn, team_id, viewer.user_id):
        raise Forbidden("Ask an owner of the team: only owners may do this.")


@atomic_function
def add_member(
    conn: Connection, team_id: TeamId, user_id: UserId, by: UserId | None, *, is_owner: bool = False
) -> None:
    """Adds a person to a team, or makes a member an owner. An owner stays one.

    All ways into a team call this function. The team's other invitations of this person end. Raises
    NotFound. Raises Conflict for an ended or full team, and for a person who competes for another
    team where this team competes, or whom a host blocked there. Its message is for ``by``.
    """
    competitors.lock_team(conn, team_id)
    try:
        with atomic(conn):
            query = """insert into memberships (team_id, user_id, is_owner)
                values (%(team_id)s, %(user_id)s, %(is_owner)s)
                on conflict (team_id, user_id) do update set is_owner = memberships.is_owner
                  or excluded.is_owner"""
            conn.execute(query, {"team_id": team_id, "user_id": user_id, "is_owner": is_owner})
    except errors.ForeignKeyViolation:
        raise NotFound("there is no such team or user") from None
    count = fetch_one(conn, int, "select count(*) from memberships where team_id = %s", (team_id,))
    if count > MOST_MEMBERS:
        raise Conflict(f"the team is full: it has {MOST_MEMBERS} members")
    competitors.add_competitors_of_team(conn, team_id, by)
    competitors.refuse_blocked_people(conn, team_id, [user_id])
    query = """update team_invitations i set revoked_at = now()
        where team_id = %(team_id)s and user_id = %(user_id)s and revoked_at is null
          and declined_at is null
          and not exists (select 1 from team_joinings j where j.invitation_id = i.id)"""
    conn.execute(query, {"team_id": team_id, "user_id": user_id})
    record_team_act(conn, team_id, by, "join", user_id, {"is_owner": is_owner})


@atomic_function
def hand_over(conn: Connection, team_id: TeamId, to: UserId, viewer: Viewer) -> None:
    """Makes a member the owner; the person who hands over becomes an ordinary member.

    Raises Forbidden for others than owners and administrators, NotFound for no member.
    """
    competitors.lock_team(conn, team_id)
    require_owner(conn, team_id, viewer)
    changed = conn.execute(
        "update memberships set is_owner = true where team_id = %s and user_id = %s", (team_id, to)
    )
    if changed.rowcount == 0:
        raise NotFound("choose a member of the team", field="user")
    if to != viewer.user_id:
        update(conn, "memberships", {"team_id": team_id, "user_id": viewer.user_id}, is_owner=False)
        if viewer.user_id is not None:
            _withdraw_merges(conn, team_id, viewer.user_id)
    record_team_act(conn, team_id, viewer.user_id, "hand_over", to)


@atomic_function
def remove_member(conn: Connection, team_id: TeamId, user_id: UserId, viewer: Viewer) -> None:
    """Takes a person out of a team: the person themselves, an owner or an administrator may.

    The person still competes for the team in its seasons. Requests for merges and invitations
    that they made end, and invitations of them by name. If an owner removed them, all links end,
    because they may know them. Raises NotFound for no member. Raises Conflict
    for the last owner: somebody must own a team.
    """
    competitors.lock_team(conn, team_id)
    if user_id != viewer.user_id:
        require_owner(conn, team_id, viewer)
    members = {member.id: member.is_owner for member in list_members(conn, team_id)}
    if user_id not in members:
        raise NotFound("choose a member of the team", field="user")
    if len(members) == 1:
        raise Conflict("dissolve the team: this person is its last member")
    if [member for member, owns in members.items() if owns] == [user_id]:
        raise Conflict("hand the team over to another member first: this person is its only owner")
    conn.execute("delete from memberships where team_id = %s and user_id = %s", (team_id, user_id))
    conn.execute(
        """update team_invitations set revoked_at = now()
        where team_id = %(team)s and revoked_at is null
          and (%(user)s in (created_by, user_id) or user_id is null and %(is_removed)s)""",
        {"team": team_id, "user": user_id, "is_removed": user_id != viewer.user_id},
    )
    _withdraw_merges(conn, team_id, user_id)
    act = "leave" if user_id == viewer.user_id else "remove"
    record_team_act(conn, team_id, viewer.user_id, act, user_id)


def _withdraw_merges(conn: Connection, team_id: TeamId, user_id: UserId) -> None:
    """Withdraws the open requests for merges that this person made for the team."""
    query = """update team_merges set outcome = 'withdrawn', answered_at = now()
        where team_id = %(team_id)s and asked_by = %(user_id)s and outcome is null"""
    conn.execute(query, {"team_id": team_id, "user_id": user_id})


def _refuse_name(
    conn: Connection, name: str, by: UserId | None, team_id: TeamId | None = None
) -> None:
    """Raises Invalid for a reserved name, Conflict for the name of a person outside the team."""
    users.refuse_reserved_name(name)
    other = exists(
        conn,
        """select 1 from users u
        where u.look_alike = %(look_alike)s and u.erased_at is null and u.id <> %(id)s
          and not exists (
            select 1 from memberships m where m.team_id = %(team_id)s and m.user_id = u.id)""",
        {"look_alike": users.look_alike_key(name), "id": by or "", "team_id": team_id or ""},
    )
    if other:
        raise Conflict(
            f"{name!r} is the name of a person, or looks like it; choose another name",
            field="name",
        )


def _free_slug(conn: Connection, name: str, team_id: TeamId | None) -> str:
    slug = users.team_slug(name)
    query = "select 1 from teams where slug = %s and id <> %s"
    taken = exists(conn, query, (slug, team_id or ""))
    return f"{slug}-{secrets.token_hex(4)}" if taken else slug


@dataclass(frozen=True, slots=True)
class TeamAct:
    """One line of the team's log. ``subject`` is the id of a person, a team or an invitation."""

    __pydantic_config__ = RECORD
    id: str
    by_user: UserId | None
    """null: the operator, on the machine itself."""
    by_name: str | None
    act: Annotated[str, Field(examples=["rename"])]
    subject: str
    subject_name: str | None
    """Name of the person in ``subject``; null for other subjects."""
    details: dict[str, Json]
    created_at: datetime


NOTICES: Final = {"invite": "team_invited", "join": "team_joined"}
"""The kind of the notice about an act, if it gives one."""


def record_team_act(
    conn: Connection,
    team_id: TeamId,
    by: UserId | None,
    act: str,
    subject: str = "",
    details: Mapping[str, Json] | None = None,
) -> None:
    """Writes an act in its own transaction, and a notice to those whom it concerns."""
    query = """insert into team_audits (id, team_id, by_user, act, subject, details)
        values (%s, %s, %s, %s, %s, %s)"""
    conn.execute(query, (ids.new_id("tau"), team_id, by, act, subject, Jsonb(dict(details or {}))))
    if act in NOTICES:
        # The domain of notices lies above this one, so its SQL function is called.
        conn.execute(
            """select notices_record(%s, jsonb_build_object('team_id', %s::text, 'user_id', u.id))
            from users u
            where u.id = %s""",  # an invitation by link names no person
            (NOTICES[act], team_id, subject),
        )


def list_team_acts(
    conn: Connection, team_id: TeamId, *, after: str | None = None, limit: int = 50
) -> list[TeamAct]:
    """Returns a team's acts, newest first, after ``after``."""
    query = """select a.id, a.by_user, u.name as by_name, a.act, a.subject, p.name as subject_name,
          a.details, a.created_at
        from team_audits a left join users u on u.id = a.by_user
        left join users p on p.id = a.subject
        where a.team_id = %(team_id)s and (%(after)s::text is null or a.id < %(after)s)
        order by a.id desc limit %(limit)s"""
    return fetch(conn, TeamAct, query, {"team_id": team_id, "after": after, "limit": limit})
