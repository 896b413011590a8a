"""Blocks and unblocks people on the whole instance, and pauses the agents of blocked people.

An agent is paused while all people of its team are blocked: it keeps its rank and is not paired. A
job of the scheduler pauses and resumes, so it also covers entries that become active later.
"""

from __future__ import annotations

from typing import Final

from pydantic import ConfigDict

from ladder.database.db import Connection, atomic_function, fetch
from ladder.entries.records import PauseCause
from ladder.errors import Conflict
from ladder.field_types import FilledLine, RequestModel
from ladder.ids import EntryId, SeasonId, UserId
from ladder.people import audit_log, users
from ladder.people.records import Viewer

REASON: Final = "all people of its team are blocked; ask an administrator"
"""Reason that the team of a TEAM_BLOCKED entry reads."""
TO_CHANGE: Final = """
    with blocked as materialized (
      select t.team_id
      from (
        select distinct m.team_id from user_blocks b join memberships m on m.user_id = b.user_id
      ) t
      where (
        select bool_and(exists (select 1 from user_blocks b where b.user_id = m.user_id))
        from memberships m where m.team_id = t.team_id
      )
    ), to_change as (
      select e.id from blocked b join entries e on e.team_id = b.team_id where e.state = 'active'
      union all
      select id from entries
      where state = 'paused' and pause_cause = %(cause)s
        and team_id not in (select team_id from blocked)
    )
    """
"""SQL: entries to pause or to resume: of teams whose people are all blocked, or not any more. Reads
only teams with a blocked person, and only paused entries if nobody is blocked."""
LIST_TO_CHANGE: Final = """
    select e.id, e.season_id from to_change c
    join entries e on e.id = c.id join seasons s on s.id = e.season_id
    where s.state <> 'finished' and e.disqualified_at is null
    order by e.season_id, e.id limit %(limit)s
    """
CHANGE: Final = """
    select e.id, case e.state when 'active'
        then entry_pause(e.id, %(cause)s, %(reason)s, null) else entry_resume(e.id) end
    from to_change c join entries e on e.id = c.id where e.id = any (%(entries)s)
    """


class AccountBlock(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "spam"}]})
    reason: FilledLine
    """The person reads it."""


@atomic_function
def block_account(conn: Connection, by: Viewer, user_id: UserId, reason: str) -> None:
    """Blocks a person: ends sessions and tokens, pauses agents. A repeat changes the reason.

    Writes an audit entry. Raises NotFound. Raises Conflict for the own account.
    """
    person = users.get_user(conn, user_id)
    if person.id == by.user_id:
        raise Conflict("choose another person: you cannot block yourself", field="user")
    values = {"user": person.id, "reason": reason, "by": by.user_id}
    conn.execute(
        """
        insert into user_blocks (user_id, reason, by_user) values (%(user)s, %(reason)s, %(by)s)
        on conflict (user_id) do update set reason = excluded.reason
        """,
        values,
    )
    conn.execute(
        """
        with ended as (
          update sessions set revoked_at = now() where user_id = %(user)s and revoked_at is null
        ), revoked as (
          update tokens set revoked_at = now() where user_id = %(user)s and revoked_at is null
        )
        update device_logins set is_refused = true
        where user_id = %(user)s and used_at is null and not is_refused
        """,
        values,
    )
    audit_log.record_account_act(conn, by, "block-account", person.id, reason)
    pause_and_resume_entries(conn)


@atomic_function
def unblock_account(conn: Connection, by: Viewer, user_id: UserId, reason: str) -> None:
    """Ends a block and resumes agents. The person signs in anew. A repeat changes nothing."""
    person = users.get_user(conn, user_id)
    ended = conn.execute("delete from user_blocks where user_id = %s", (person.id,))
    if ended.rowcount:
        audit_log.record_account_act(conn, by, "unblock-account", person.id, reason)
        pause_and_resume_entries(conn)


@atomic_function
def pause_and_resume_entries(conn: Connection, limit: int = 500) -> list[EntryId]:
    """Pauses active entries of blocked teams, and resumes those of teams that are not any more.

    Entries of finished seasons stay as they are. Returns the changed entries.
    """
    cause = PauseCause.TEAM_BLOCKED
    values = {"cause": cause, "limit": limit}
    rows = fetch(conn, tuple[EntryId, SeasonId], f"{TO_CHANGE} {LIST_TO_CHANGE}", values)
    if not rows:
        return []
    entry_ids = [entry_id for entry_id, _ in rows]
    season_ids = sorted({season_id for _, season_id in rows})
    conn.execute(
        "select 1 from seasons where id = any (%s) order by id for no key update", (season_ids,)
    )
    conn.execute(
        "select 1 from entries where id = any (%s) order by id for no key update", (entry_ids,)
    )
    changes = {"cause": cause, "reason": REASON, "entries": entry_ids}
    changed = fetch(conn, tuple[EntryId, object], f"{TO_CHANGE} {CHANGE}", changes)
    conn.execute("update seasons set revision = revision + 1 where id = any (%s)", (season_ids,))
    return [entry_id for entry_id, _ in changed]
