"""Imports the roster of a league: the expected members, and who has joined.

Each line has its own code, which admits one person. That person joins the team in the line. Only
hosts see external ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from psycopg.rows import class_row

from ladder.database.db import Connection, atomic_function
from ladder.enums import LeagueRole
from ladder.ids import InvitationId, LeagueId, TeamId, UserId
from ladder.leagues import invitations
from ladder.leagues.members import PLAIN, replace_role, role_of
from ladder.leagues.roster_file import RosterPerson
from ladder.people import quotas


class LineChange(StrEnum):
    """Effect of an import on a line."""

    NEW = "new"
    """The line is created, with a code."""
    CHANGED = "changed"
    """Name, team or role has changed."""
    CODE = "code"
    """A new code replaces a revoked one; nothing else has changed."""
    SAME = "same"
    """Nothing has changed."""


@dataclass(frozen=True, slots=True)
class RosterLine:
    """A line of the roster."""

    external_id: str
    name: str
    team: str
    role: LeagueRole
    invitation_id: InvitationId
    is_revoked: bool
    """Whether the line's code is revoked; another import creates a new code."""
    user_id: UserId | None
    user_name: str | None
    """Name that the member chose."""
    team_id: TeamId | None


@dataclass(frozen=True, slots=True)
class ImportedLine:
    expected: RosterPerson
    change: LineChange
    code: str | None
    """The code if it is new; it is shown only once."""


def list_lines(conn: Connection, league_id: LeagueId) -> list[RosterLine]:
    """Returns a league's roster by external id."""
    with conn.cursor(row_factory=class_row(RosterLine)) as cur:
        return cur.execute(
            "select r.external_id, r.name, r.team, r.role, r.invitation_id,"
            " i.revoked_at is not null as is_revoked, r.user_id, u.name as user_name, r.team_id"
            " from roster r join invitations i on i.id = r.invitation_id"
            " left join users u on u.id = r.user_id where r.league_id = %s order by r.external_id",
            (league_id,),
        ).fetchall()


@atomic_function
def import_roster(
    conn: Connection,
    league_id: LeagueId,
    expected: Sequence[RosterPerson],
    *,
    by: UserId | None,
    is_dry: bool = False,
) -> list[ImportedLine]:
    """Imports lines and returns the changes; with ``is_dry`` it changes nothing.

    Other lines stay. A changed team applies to later members, a changed role immediately,
    with an audit entry. Raises LimitReached.
    """
    # Lock the league: two imports at once would create two codes for a line.
    conn.execute("select 1 from leagues where id = %s for no key update", (league_id,))
    known = {line.external_id: line for line in list_lines(conn, league_id)}
    done = []
    for each in expected:
        line = known.get(each.external_id)
        change = _change_of_line(line, each)
        code = None
        if not is_dry and change is not LineChange.SAME:
            invitation_id, code = _invite_person(conn, league_id, each, line, by)
            conn.execute(
                "insert into roster (league_id, external_id, name, team, role, invitation_id)"
                " values (%s, %s, %s, %s, %s, %s) on conflict (league_id, external_id) do update"
                " set name = excluded.name, team = excluded.team, role = excluded.role,"
                " invitation_id = excluded.invitation_id",
                (league_id, each.external_id, each.name, each.team, each.role, invitation_id),
            )
        done.append(ImportedLine(each, change, code))
    quotas.check_invitation_quota(conn, league_id)
    return done


def external_ids(conn: Connection, league_id: LeagueId) -> dict[TeamId, list[str]]:
    """Returns the external ids of each team's members, for hosts of the league."""
    rows = conn.execute(
        "select m.team_id, array_agg(distinct r.external_id order by r.external_id) from roster r"
        " join memberships m on m.user_id = r.user_id"
        "   and (r.team_id is null or r.team_id = m.team_id)"
        " where r.league_id = %s group by 1",
        (league_id,),
    )
    return {TeamId(team): found for team, found in rows}


def _change_of_line(line: RosterLine | None, each: RosterPerson) -> LineChange:
    if line is None:
        return LineChange.NEW
    if (line.name, line.team, line.role) != (each.name, each.team, each.role):
        return LineChange.CHANGED
    return LineChange.CODE if line.is_revoked and line.user_id is None else LineChange.SAME


def _invite_person(
    conn: Connection,
    league_id: LeagueId,
    each: RosterPerson,
    line: RosterLine | None,
    by: UserId | None,
) -> tuple[InvitationId, str | None]:
    """Returns the line's invitation, and its code if it is new; gives a member the new role.

    A person without a role stays out: a host removed or blocked them.
    """
    if line is not None and line.user_id is not None:
        if role_of(conn, league_id, line.user_id) in PLAIN:
            replace_role(conn, by, league_id, line.user_id, each.role)
        return line.invitation_id, None
    if line is not None and not line.is_revoked:
        conn.execute(
            "update invitations set role = %s, label = %s where id = %s",
            (each.role, f"roster: {each.name}", line.invitation_id),
        )
        return line.invitation_id, None
    made, code = invitations.create_roster_invitation(
        conn, league_id, role=each.role, created_by=by, label=f"roster: {each.name}", max_uses=1
    )
    return made.id, code
