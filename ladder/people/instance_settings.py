"""Settings of the instance that administrators change while it runs.

Without a choice of an administrator, the default counts: ``PECK_SIGN_UP``, and the constants in
``quotas``.
"""

from __future__ import annotations

from typing import Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection, atomic_function
from ladder.enums import Json
from ladder.people import audit_log
from ladder.people.records import Viewer

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
