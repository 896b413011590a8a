"""Members of a league and their roles, within the rights of the person who gives or takes a role.

The terms of the league name the roles grader and commentator (``ladder.leagues.terms``). People
with these roles never compete in a season of the league. If the role ends, they compete only in
seasons that are made afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ladder.database.db import Connection, atomic_function
from ladder.enums import LeagueRole
from ladder.errors import Conflict, Forbidden
from ladder.field_types import RECORD, RequestModel
from ladder.ids import LeagueId, TeamId, UserId
from ladder.leagues import leagues
from ladder.leagues.records import League, Season
from ladder.people import audit_log
from ladder.people.permissions import may_appoint
from ladder.people.records import Viewer
from ladder.people.roles import ROLE, SEASON_STAFF, STAFF

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
    rows = conn.execute(
        f"select u.id, u.name, {ROLE}, m.created_at"  # noqa: S608
        " from league_members m join users u on u.id = m.user_id"
        " where m.league_id = %s and u.id > %s order by u.id limit %s",
        (league_id, after or "", limit),
    )
    return [Member(user_id, name, LeagueRole(role), at) for user_id, name, role, at in rows]


def count_members(conn: Connection, league_id: LeagueId) -> int:
    """Returns the number of people in a league, hosts too."""
    row = conn.execute(
        "select count(*) from league_members where league_id = %s", (league_id,)
    ).fetchone()
    return row[0] if row else 0


def role_of(conn: Connection, league_id: LeagueId, user_id: UserId) -> LeagueRole | None:
    """Returns a person's role in a league; None without one."""
    row = conn.execute(
        f"select {ROLE} from league_members where league_id = %s and user_id = %s",  # noqa: S608
        (league_id, user_id),
    ).fetchone()
    return None if row is None else LeagueRole(row[0])


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
    row = conn.execute(
        "select 1 from league_blocks where league_id = %s and user_id = %s", (league.id, user_id)
    ).fetchone()
    return row is not None


def _refuse_last_host(conn: Connection, league: League) -> None:
    row = conn.execute(
        "select count(*) from league_members where league_id = %s and role = 'host'", (league.id,)
    ).fetchone()
    if row is None or row[0] <= 1:
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
    rows = conn.execute(
        "select u.id, u.name, m.duty from league_members m join users u on u.id = m.user_id"
        " where m.league_id = %s and m.duty = any (%s) order by u.id",
        (league_id, list(STAFF)),
    )
    return [StaffMember(user_id, name, LeagueRole(role)) for user_id, name, role in rows]


def refuse_competitor_as_staff(conn: Connection, league_id: LeagueId, user_id: UserId) -> None:
    """Raises Conflict if this person competes in an unfinished season of the league.

    The caller has locked the league, so that no team enters at the same moment.
    """
    row = conn.execute(
        "select u.name from users u where u.id = %s and exists ("
        "  select 1 from season_competitors c join seasons s on s.id = c.season_id"
        "  where c.user_id = u.id and s.league_id = %s and s.state <> 'finished')",
        (user_id, league_id),
    ).fetchone()
    if row is not None:
        raise Conflict(COMPETES.format(row[0]), field="role")


def refuse_team_with_staff(conn: Connection, season: Season, team_id: TeamId) -> None:
    """Raises Conflict if a person of this team is grader or commentator of the season's league.

    Who gave the role up while the season was there is refused as well.
    Locks the league for the caller's transaction, so that nobody of the team becomes one meanwhile.
    """
    conn.execute("select 1 from leagues where id = %s for share", (season.league_id,))
    row = conn.execute(
        f"select u.name, d.task from {SEASON_STAFF} d join memberships p on p.user_id = d.user_id"  # noqa: S608
        " join users u on u.id = d.user_id"
        " where d.season_id = %s and p.team_id = %s order by u.id limit 1",
        (season.id, team_id),
    ).fetchone()
    if row is not None:
        raise Conflict(
            f"{row[0]} {row[1]} of this league: no team with this person competes in this season"
        )
