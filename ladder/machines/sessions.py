"""Ends sessions of machines in Postgres that hold what others wait for.

A lease function takes milliseconds. A machine that keeps a transaction open keeps the locks of its
calls, the old rows of all tables and all notifications.
"""

from __future__ import annotations

from typing import Final

from ladder.database.db import Connection

LONGEST_SECONDS: Final = 20.0
"""Longest transaction of a machine. A report may wait this long for the lock of a season."""


def end_held_sessions(conn: Connection, longest_seconds: float = LONGEST_SECONDS) -> list[str]:
    """Ends machines' sessions with a longer transaction or an advisory lock. Returns their logins.

    A machine whose worker was stopped meanwhile connects again.
    """
    rows = conn.execute(
        "select a.usename, pg_terminate_backend(a.pid) from pg_stat_activity a"
        " where a.usename in (select login from machines) and pg_has_role(a.usename, 'usage')"
        " and (a.xact_start < clock_timestamp() - make_interval(secs => %s) or exists ("
        "   select 1 from pg_locks l where l.pid = a.pid and l.locktype = 'advisory'))",
        (longest_seconds,),
    ).fetchall()
    return [str(login) for login, _ in rows]
