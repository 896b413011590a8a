"""Blocks people from a league: they get no role, cannot ask to join, and enter no agent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pydantic import ConfigDict

from ladder.database.db import Connection, atomic_function, fetch, fetch_optional
from ladder.errors import Conflict, Forbidden
from ladder.field_types import RECORD, FilledLine, RequestModel
from ladder.ids import LeagueId, TeamId, UserId
from ladder.leagues import leagues, members
from ladder.leagues.records import League
from ladder.people import audit_log
from ladder.people.records import Viewer


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
    role = members.role_of(conn, league.id, user_id)
    if role is not None and role not in members.PLAIN:
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
