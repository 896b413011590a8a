"""Graders and commentators of a league: who they are, and which members agreed to them.

The terms name them. A member agrees to them with the terms, or later with ``peck league consent``.
Until all people of a team agreed, a grader or commentator sees nothing of it. They never compete in
a season of the league. If the role ends, they compete only in seasons that are made afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection
from ladder.enums import LeagueRole
from ladder.errors import Conflict
from ladder.ids import LeagueId, TeamId, UserId
from ladder.leagues.records import League, Season
from ladder.leagues.terms import StaffName, settings_of_league, terms_digest
from ladder.people.roles import SEASON_STAFF, STAFF

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


def staff_names(conn: Connection, league_id: LeagueId) -> list[StaffName]:
    """Returns names and roles for the terms."""
    return [(one.name, one.role) for one in list_staff(conn, league_id)]


def current_digest(conn: Connection, league: League) -> str:
    """Returns the digest of the league's terms now."""
    return terms_digest(*settings_of_league(league), staff_names(conn, league.id))


def record_staff_agreement(
    conn: Connection, league_id: LeagueId, user_id: UserId, staff: Iterable[StaffMember]
) -> None:
    """Records that a member agreed to these graders and commentators."""
    with conn.cursor() as cur:
        cur.executemany(
            "insert into staff_agreements (league_id, user_id, staff_id, role)"
            " values (%s, %s, %s, %s) on conflict do nothing",
            [(league_id, user_id, one.user_id, one.role.value) for one in staff],
        )


def staff_not_agreed_to(
    conn: Connection, league_id: LeagueId, user_id: UserId
) -> list[StaffMember]:
    """Returns the graders and commentators to whom this person has not agreed."""
    rows = conn.execute(
        "select staff_id, role from staff_agreements where league_id = %s and user_id = %s",
        (league_id, user_id),
    ).fetchall()
    agreed = {(staff_id, role) for staff_id, role in rows}
    return [
        one
        for one in list_staff(conn, league_id)
        if (one.user_id, one.role.value) not in agreed and one.user_id != user_id
    ]


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
