"""Settings of the instance, and limits of what a person or a team may create in a UTC day.

Administrators change both while the instance runs. Without their choice, the constants here and
``PECK_SIGN_UP`` count. ``ladder.entries.deadlines`` has the daily limit of a season.

Call each function after the creation, in its transaction; the count includes the new row. The
function locks the owner's row, so simultaneous requests are counted in turn.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from psycopg import sql
from psycopg.types.json import Jsonb

from ladder.database.db import Connection, atomic_function, fetch_one
from ladder.enums import Json
from ladder.errors import LimitReached
from ladder.ids import LeagueId, TeamId, UserId
from ladder.people import audit_log
from ladder.people.records import Viewer

TOKENS: Final = 100
LEAGUES: Final = 20
SEASONS: Final = 50
INVITATIONS: Final = 5000
REQUESTS: Final = 20
AGENTS: Final = 100
UPLOADS: Final = 200
UPLOAD_MB: Final = 4096


def default_quotas() -> dict[str, int]:
    """Returns the quotas that count without a choice of an administrator, by name."""
    return {
        "tokens": TOKENS,
        "leagues": LEAGUES,
        "seasons": SEASONS,
        "invitations": INVITATIONS,
        "requests": REQUESTS,
        "agents": AGENTS,
        "uploads": UPLOADS,
        "upload_mb": UPLOAD_MB,
    }


def check_token_quota(conn: Connection, user_id: UserId) -> None:
    """Raises LimitReached if a person created too many tokens today."""
    count = _count_made_today(conn, "tokens", "user_id", "users", user_id)
    _refuse_above(conn, "tokens", "tokens a day", count)


def check_league_quota(conn: Connection, user_id: UserId) -> None:
    """Raises LimitReached if a person created too many leagues today."""
    count = _count_made_today(conn, "leagues", "created_by", "users", user_id)
    _refuse_above(conn, "leagues", "leagues a day", count)


def check_season_quota(conn: Connection, league_id: LeagueId) -> None:
    """Raises LimitReached if a league got too many seasons today."""
    count = _count_made_today(conn, "seasons", "league_id", "leagues", league_id)
    _refuse_above(conn, "seasons", "seasons of a league a day", count)


def check_invitation_quota(conn: Connection, league_id: LeagueId) -> None:
    """Raises LimitReached if a league got too many codes today."""
    count = _count_made_today(conn, "invitations", "league_id", "leagues", league_id)
    _refuse_above(conn, "invitations", "invitation codes of a league a day", count)


def check_request_quota(conn: Connection, user_id: UserId) -> None:
    """Raises LimitReached if a person asked to join too many leagues today."""
    count = _count_made_today(conn, "join_requests", "user_id", "users", user_id)
    _refuse_above(conn, "requests", "requests to join leagues a day", count)


def check_agent_quota(conn: Connection, team_id: TeamId) -> None:
    """Raises LimitReached if a team created too many agents today."""
    count = _count_made_today(conn, "agents", "team_id", "teams", team_id)
    _refuse_above(conn, "agents", "agents of a team a day", count)


def check_upload_quota(conn: Connection, team_id: TeamId) -> None:
    """Raises LimitReached if a team uploaded too many bundles or bytes today, in all seasons."""
    conn.execute("select 1 from teams where id = %s for no key update", (team_id,))
    query = """select count(*), coalesce(sum(s.size_bytes), 0) from submissions s
        join agents a on a.id = s.agent_id
        where a.team_id = %(team_id)s and s.created_at >= date_trunc('day', now(), 'utc')"""
    uploads, size_bytes = fetch_one(conn, tuple[int, int], query, {"team_id": team_id})
    _refuse_above(conn, "uploads", "uploads of a team a day, over all seasons", uploads)
    megabytes = -(-int(size_bytes) // (1 << 20))
    _refuse_above(conn, "upload_mb", "megabytes uploaded by a team a day", megabytes)


def _count_made_today(conn: Connection, table: str, column: str, owners: str, owner: str) -> int:
    """Locks the owner's row; returns how many rows of ``table`` the owner created today."""
    lock = sql.SQL("select 1 from {} where id = %s for no key update")
    conn.execute(lock.format(sql.Identifier(owners)), (owner,))
    count = sql.SQL(
        "select count(*) from {} where {} = %s and created_at >= date_trunc('day', now(), 'utc')"
    )
    return fetch_one(
        conn, int, count.format(sql.Identifier(table), sql.Identifier(column)), (owner,)
    )


def _refuse_above(conn: Connection, name: str, limit: str, count: int) -> None:
    """Raises LimitReached if ``count`` is above the quota with this name."""
    chosen = read_setting(conn, f"{QUOTA}{name}")
    allowed = default_quotas()[name] if chosen is None else int(chosen)
    if count > allowed:
        query = "select date_trunc('day', now(), 'utc') + interval '1 day'"
        raise LimitReached(limit, allowed, allowed, fetch_one(conn, datetime, query))


SIGN_UP: Final = "sign_up"
QUOTA: Final = "quota."
"""Prefix of a quota's name."""


def read_setting(conn: Connection, name: str) -> Json:
    """Returns what an administrator chose; None: the default counts."""
    row = conn.execute("select value from instance_settings where name = %s", (name,)).fetchone()
    return None if row is None else row[0]


def read_settings(conn: Connection) -> dict[str, Json]:
    """Returns everything that administrators chose, by name."""
    return dict(conn.execute("select name, value from instance_settings").fetchall())


@atomic_function
def change_setting(conn: Connection, by: Viewer, name: str, value: Json) -> None:
    """Sets a value, or goes back to the default (None). Writes an audit entry.

    The caller has checked the value.
    """
    if value is None:
        conn.execute("delete from instance_settings where name = %s", (name,))
    else:
        query = """insert into instance_settings (name, value, changed_by)
            values (%(name)s, %(value)s, %(user_id)s)
            on conflict (name) do update set value = excluded.value,
              changed_by = excluded.changed_by, changed_at = now()"""
        conn.execute(query, {"name": name, "value": Jsonb(value), "user_id": by.user_id})
    audit_log.record_audit(
        conn,
        None,
        by=by.user_id,
        act="setting",
        subject=name,
        reason="back to the default" if value is None else f"set to {value}",
    )
