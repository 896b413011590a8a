"""Members of a league and their roles, within the rights of the person who gives or takes a role.

The terms of the league name the roles grader and commentator (``ladder.leagues.terms``). People
with these roles never compete in a season of the league. If the role ends, they compete only in
seasons that are made afterwards. A blocked person gets no role, cannot ask to join, and enters no
agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import ConfigDict

from ladder.database.db import (
    Connection,
    atomic_function,
    exists,
    fetch,
    fetch_one,
    fetch_optional,
)
from ladder.enums import LeagueRole
from ladder.errors import Conflict, Forbidden
from ladder.field_types import RECORD, FilledLine, RequestModel
from ladder.ids import LeagueId, TeamId, UserId
from ladder.leagues import leagues
from ladder.leagues.records import League, Season
from ladder.people import audit_log
from ladder.people.permissions import may_appoint
from ladder.people.records import ROLE, SEASON_STAFF, STAFF, Viewer

MEMBERS: Final = " ".join(
    (
        "select u.id as user_id, u.name,",
        ROLE,
        "as role, m.created_at as joined_at",
        "from league_members m join users u on u.id = m.user_id",
    )
)
STAFF_OF_TEAM: Final = " ".join(
    (
        "select concat(u.name, ' ', d.task) from",
        SEASON_STAFF,
        "d join memberships p on p.user_id = d.user_id join users u on u.id = d.user_id",
    )
)
PLAIN: Final = (LeagueRole.COMPETITOR, LeagueRole.VIEWER)
"""Roles that a co-host may give and take."""


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a league."""

    __pydantic_config__ = RECORD
    user_id: UserId
    name: str
    role: LeagueRole
    joined_at: datetime


class RoleChange(RequestModel):
    role: LeagueRole


def list_members(
    conn: Connection, league_id: LeagueId, after: UserId | None = None, limit: int = 200
) -> list[Member]:
    """Returns the members of a league by user id, after ``after``."""
    return fetch(
        conn,
        Member,
        f"""
        {MEMBERS}
        where m.league_id = %(league)s and u.id > %(after)s
        order by u.id
        limit %(limit)s
        """,
        {"league": league_id, "after": after or "", "limit": limit},
    )


def count_members(conn: Connection, league_id: LeagueId) -> int:
    """Returns the number of people in a league, hosts too."""
    return fetch_one(
        conn,
        int,
        "select count(*) from league_members where league_id = %(league)s",
        {"league": league_id},
    )


def role_of(conn: Connection, league_id: LeagueId, user_id: UserId) -> LeagueRole | None:
    """Returns a person's role in a league; None without one."""
    member = fetch_optional(
        conn,
        Member,
        f"{MEMBERS} where m.league_id = %(league)s and m.user_id = %(user)s",
        {"league": league_id, "user": user_id},
    )
    return None if member is None else member.role


@atomic_function
def change_role(
    conn: Connection, by: Viewer, league: League, user_id: UserId, role: LeagueRole | None
) -> None:
    """Gives a person a role instead of the earlier one; None takes it. A repeat changes nothing.

    Writes an audit entry. Raises NotFound for the person. Raises Forbidden if ``by`` may not give
    or take this role. Raises Conflict for the last host, and for a grader or commentator who
    competes.
    """
    conn.execute("select 1 from leagues where id = %s for no key update", (league.id,))
    before = role_of(conn, league.id, user_id)
    if before is role:
        return
    if not may_appoint(by, league.id) and {before, role} - {None, *PLAIN}:
        raise Forbidden(
            "Ask a host of the league: a co-host gives and takes only the roles"
            " competitor and viewer."
        )
    if role is not None and _is_blocked(conn, league, user_id):
        raise Conflict("unblock this person first: the league blocks them", field="user")
    if role in STAFF:
        refuse_competitor_as_staff(conn, league.id, user_id)
    if before is LeagueRole.HOST:
        _refuse_last_host(conn, league)
    replace_role(conn, by.user_id, league.id, user_id, role)


def replace_role(
    conn: Connection,
    by: UserId | None,
    league_id: LeagueId,
    user_id: UserId,
    role: LeagueRole | None,
) -> None:
    """Gives a person a role instead of the earlier one and writes an audit entry; checks no right.

    The caller has locked the league. A repeat changes nothing. Raises NotFound for the person.
    """
    before = role_of(conn, league_id, user_id)
    if before is role:
        return
    leagues.set_member_role(conn, league_id, user_id, role)
    audit_log.record_audit(
        conn,
        league_id,
        by=by,
        act="role",
        subject=user_id,
        reason=f"{before or 'no role'} becomes {role or 'no role'}",
    )


def _is_blocked(conn: Connection, league: League, user_id: UserId) -> bool:
    return exists(
        conn,
        "select 1 from league_blocks where league_id = %(league)s and user_id = %(user)s",
        {"league": league.id, "user": user_id},
    )


def _refuse_last_host(conn: Connection, league: League) -> None:
    hosts = fetch_one(
        conn,
        int,
        "select count(*) from league_members where league_id = %(league)s and role = 'host'",
        {"league": league.id},
    )
    if hosts <= 1:
        raise Conflict("name another host first: this is the last host of the league", field="role")


COMPETES: Final = (
    "{} competes in a season of this league that is not finished; choose another person, or wait"
)


@dataclass(frozen=True, slots=True)
class StaffMember:
    """A grader or commentator of a league."""

    user_id: UserId
    name: str
    role: LeagueRole


def list_staff(conn: Connection, league_id: LeagueId) -> list[StaffMember]:
    """Returns the graders and commentators of a league, by user id."""
    return fetch(
        conn,
        StaffMember,
        """
        select u.id as user_id, u.name, m.duty as role
        from league_members m
        join users u on u.id = m.user_id
        where m.league_id = %(league)s and m.duty = any (%(staff)s)
        order by u.id
        """,
        {"league": league_id, "staff": list(STAFF)},
    )


def refuse_competitor_as_staff(conn: Connection, league_id: LeagueId, user_id: UserId) -> None:
    """Raises Conflict if this person competes in an unfinished season of the league.

    The caller has locked the league, so that no team enters at the same moment.
    """
    name = fetch_optional(
        conn,
        str,
        """
        select u.name
        from users u
        where u.id = %(user)s
          and exists (
              select 1
              from season_competitors c
              join seasons s on s.id = c.season_id
              where c.user_id = u.id and s.league_id = %(league)s and s.state <> 'finished'
          )
        """,
        {"user": user_id, "league": league_id},
    )
    if name is not None:
        raise Conflict(COMPETES.format(name), field="role")


def refuse_team_with_staff(conn: Connection, season: Season, team_id: TeamId) -> None:
    """Raises Conflict if a person of this team is grader or commentator of the season's league.

    Who gave the role up while the season was there is refused as well.
    Locks the league for the caller's transaction, so that nobody of the team becomes one meanwhile.
    """
    conn.execute("select 1 from leagues where id = %s for share", (season.league_id,))
    person = fetch_optional(
        conn,
        str,
        f"""
        {STAFF_OF_TEAM}
        where d.season_id = %(season)s and p.team_id = %(team)s
        order by u.id
        limit 1
        """,
        {"season": season.id, "team": team_id},
    )
    if person is not None:
        raise Conflict(f"{person} of this league: no team with this person competes in this season")


@dataclass(frozen=True, slots=True)
class LeagueBlock:
    """A person whom a host blocked from a league."""

    __pydantic_config__ = RECORD
    user_id: UserId
    name: str
    reason: str
    created_at: datetime


class NewBlock(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "spam"}]})
    reason: FilledLine
    """The person reads it."""


def list_blocks(
    conn: Connection, league_id: LeagueId, after: UserId | None = None, limit: int = 50
) -> list[LeagueBlock]:
    """Returns the blocked people of a league by user id, after ``after``."""
    return fetch(
        conn,
        LeagueBlock,
        """
        select b.user_id, u.name, b.reason, b.created_at
        from league_blocks b
        join users u on u.id = b.user_id
        where b.league_id = %(league)s and b.user_id > %(after)s
        order by b.user_id
        limit %(limit)s
        """,
        {"league": league_id, "after": after or "", "limit": limit},
    )


@atomic_function
def block_person(
    conn: Connection, by: Viewer, league: League, user_id: UserId, reason: str
) -> None:
    """Blocks a person; ends the role and a waiting request. A repeat changes the reason.

    Entries of the person's teams play on; a host can disqualify them. Raises Conflict for hosts,
    co-hosts, graders and commentators.
    """
    conn.execute("select 1 from leagues where id = %s for no key update", (league.id,))
    role = role_of(conn, league.id, user_id)
    if role is not None and role not in PLAIN:
        raise Conflict(f"take the role first: this person is {role} of the league", field="user")
    values = {"league": league.id, "user": user_id, "reason": reason, "by": by.user_id}
    conn.execute(
        """
        insert into league_blocks (league_id, user_id, reason, by_user)
        values (%(league)s, %(user)s, %(reason)s, %(by)s)
        on conflict (league_id, user_id) do update set reason = excluded.reason
        """,
        values,
    )
    conn.execute(
        """
        update join_requests
        set state = 'declined', answered_at = now(), answered_by = %(by)s, answer = %(reason)s
        where league_id = %(league)s and user_id = %(user)s and state = 'waiting'
        """,
        values,
    )
    leagues.set_member_role(conn, league.id, user_id, None)
    audit_log.record_audit(
        conn, league.id, by=by.user_id, act="block", subject=user_id, reason=reason
    )


@atomic_function
def unblock_person(
    conn: Connection, by: Viewer, league: League, user_id: UserId, reason: str
) -> None:
    """Ends a block; the person gets no role by it. A repeat changes nothing."""
    done = conn.execute(
        "delete from league_blocks where league_id = %s and user_id = %s", (league.id, user_id)
    )
    if done.rowcount == 0:
        return
    audit_log.record_audit(
        conn, league.id, by=by.user_id, act="unblock", subject=user_id, reason=reason
    )


def refuse_blocked_person(conn: Connection, league_id: LeagueId, user_id: UserId) -> None:
    """Raises Forbidden with the reason if a host blocked this person from the league."""
    reason = fetch_optional(
        conn,
        str,
        "select reason from league_blocks where league_id = %(league)s and user_id = %(user)s",
        {"league": league_id, "user": user_id},
    )
    if reason is not None:
        raise Forbidden(f"A host blocked you from this league: {reason}")


def refuse_team_with_blocked_person(conn: Connection, league_id: LeagueId, team_id: TeamId) -> None:
    """Raises Conflict if a person of this team is blocked. The caller has locked the league."""
    name = fetch_optional(
        conn,
        str,
        """
        select u.name
        from league_blocks b
        join memberships p on p.user_id = b.user_id
        join users u on u.id = b.user_id
        where b.league_id = %(league)s and p.team_id = %(team)s
        order by u.id
        limit 1
        """,
        {"league": league_id, "team": team_id},
    )
    if name is not None:
        raise Conflict(
            f"a host blocked {name} from this league: no team with this person enters it"
        )
