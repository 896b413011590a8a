"""Numbered SQL files, each applied once and never changed afterwards; partitions by month.

Several processes may migrate at the same time: an advisory lock lets one do the work.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from importlib import resources
from typing import Final

import psycopg
from psycopg import sql

from ladder.ids import time_part
from ladder.model import LadderError

LOCK: Final = 0x7065636B  # "peck": the advisory lock of migrations
MONTHS_AHEAD: Final = 2
PARTITIONED: Final = {
    "matches": "id",
    "seats": "match_id",
    "attempts": "match_id",
    "ratings": "match_id",
}


class MigrationChanged(LadderError):
    """A migration that was applied has other contents now; restore the file and add a new one."""


def files() -> list[tuple[str, str]]:
    """Name and text of every migration, in order of number."""
    folder = resources.files("ladder.store") / "migrations"
    return sorted(
        (f.name, f.read_text("utf-8")) for f in folder.iterdir() if f.name.endswith(".sql")
    )


def migrate(url: str) -> list[str]:
    """Brings the database up to date and returns the names applied now, oldest first.

    Creates the partitions of this month and the next ones as well. Raises MigrationChanged.
    """
    applied: list[str] = []
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("select pg_advisory_lock(%s)", (LOCK,))
        conn.execute("set lock_timeout = '10s'")
        conn.execute(
            "create table if not exists migrations (name text primary key, checksum text not null,"
            " applied_at timestamptz not null default now())"
        )
        known: dict[str, str] = dict(
            conn.execute("select name, checksum from migrations").fetchall()
        )
        for name, text in files():
            checksum = hashlib.sha256(text.encode()).hexdigest()
            if name not in known:
                with conn.transaction():
                    conn.execute(sql.SQL(text))
                    conn.execute(
                        "insert into migrations (name, checksum) values (%s, %s)", (name, checksum)
                    )
                applied.append(name)
            elif known[name] != checksum:
                raise MigrationChanged(f"{name} was applied with other contents than it has now")
        ensure_partitions(conn, MONTHS_AHEAD)
    return applied


def ensure_partitions(conn: psycopg.Connection, months_ahead: int) -> list[str]:
    """Creates the monthly partitions from this month on and returns the names made now.

    A range whose rows already went to the default partition is left there.
    """
    made = []
    today = datetime.now(UTC)
    for ahead in range(months_ahead + 1):
        year, month = divmod(today.year * 12 + today.month - 1 + ahead, 12)
        after_year, after_month = divmod(year * 12 + month + 1, 12)
        bounds = [
            "mat_" + time_part(round(datetime(y, m + 1, 1, tzinfo=UTC).timestamp() * 1000))
            for y, m in ((year, month), (after_year, after_month))
        ]
        for table, key in PARTITIONED.items():
            name = f"{table}_{year:04d}_{month + 1:02d}"
            if _make_partition(conn, table, key, name, bounds):
                made.append(name)
    return made


def _make_partition(
    conn: psycopg.Connection, table: str, key: str, name: str, bounds: list[str]
) -> bool:
    low, high = bounds
    exists = conn.execute("select to_regclass(%s) is not null", (name,)).fetchone()
    if exists == (True,):
        return False
    strays = conn.execute(
        sql.SQL("select 1 from {default} where {key} >= %s and {key} < %s limit 1").format(
            default=sql.Identifier(f"{table}_default"), key=sql.Identifier(key)
        ),
        (low, high),
    ).fetchone()
    if strays is not None:
        return False
    conn.execute(
        sql.SQL(
            "create table {name} partition of {table} for values from ({low}) to ({high})"
        ).format(
            name=sql.Identifier(name),
            table=sql.Identifier(table),
            low=sql.Literal(low),
            high=sql.Literal(high),
        )
    )
    return True
