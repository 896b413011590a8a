"""Updates a database: tables, SQL functions and monthly partitions.

A new database gets ``schema.sql``, then the migrations: ``migrations/NNNN_before_*.sql`` and
``NNNN_after_*.sql``. Each of these files runs once and never changes. A roll-out replaces processes
one by one, so versions N and N-1 use one database together. ``before`` files run before the
roll-out and only add. ``after`` files run after it and may remove.

Functions and triggers are files in their domain, such as ``matches/lease.sql``. A changed file runs
again. Several processes may migrate at the same time: an advisory lock lets one do the work.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, TypeVar

import psycopg
from psycopg import errors, sql

from ladder.database.db import exists, fetch, fetch_one
from ladder.errors import LadderError
from ladder.ids import time_part

SCHEMA: Final = "schema.sql"
NAME: Final = re.compile(r"\d{4}_(before|after)_[a-z0-9_]+\.sql")
LOCK: Final = 0x7065636B  # "peck": the advisory lock of migrations
LOCK_WAIT: Final = "set lock_timeout = '500ms'"
"""Longest wait of a migration for a lock: all requests for the table wait behind it."""
BUSY_SECONDS: Final = 120.0
PAUSE_SECONDS: Final = 0.5
MONTHS_AHEAD: Final = 2
PARTITIONED: Final = {
    "matches": "id",
    "seats": "match_id",
    "attempts": "match_id",
    "ratings": "match_id",
}
T = TypeVar("T")
File = tuple[str, str]
"""Name and text of a file."""


class MigrationChanged(LadderError):
    """The contents of an applied migration have changed; restore the file and add a new one."""


class FunctionChanged(LadderError):
    """A function has another result or other names of arguments; give it another name."""


class TablesBusy(LadderError):
    """Other processes kept the locks of tables for too long; run the command again."""


class EarlierDatabase(LadderError):
    """An earlier version with another schema made the database; export its data."""


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """What a call of ``migrate`` did."""

    applied: list[str]
    """Names of the files that ran, oldest first; ``matches/lease.sql`` for functions."""
    waiting: list[str]
    """Names of the migrations that must run after the roll-out."""


OPEN_FUNCTIONS: Final = "^(pg_(try_)?advisory_|lo_|lowrite$|pg_logical_emit_message$)"
"""With these every login may take any advisory lock, and fill the disk with large objects."""


def _revoke_rights_of_everybody(conn: psycopg.Connection) -> None:
    """Leaves temporary tables, and as a superuser OPEN_FUNCTIONS, to the owner.

    By default a machine that joined could stop the site with them.
    """
    database = sql.Identifier(conn.info.dbname)
    conn.execute(sql.SQL("revoke temporary on database {} from public").format(database))
    query = """select oid::regprocedure::text from pg_proc
        where proname ~ %(open_functions)s and pronamespace = 'pg_catalog'::regnamespace
          and has_function_privilege('public', oid, 'execute')
          and (select rolsuper from pg_roles where rolname = current_user)"""
    functions = fetch(conn, sql.SQL, query, {"open_functions": OPEN_FUNCTIONS})
    if functions:
        names = sql.SQL(", ").join(functions)
        conn.execute(sql.SQL("revoke execute on function {} from public").format(names))


def turn_off_jit(conn: psycopg.Connection) -> None:
    """Turns off the compilation of queries in later sessions, if the role owns the database.

    Postgres overestimates the rows of a read of a season's log 25 times. So it compiled the query,
    which took longer than running it.
    """
    if conn.execute("show jit").fetchone() == ("on",):
        database = sql.Identifier(conn.info.dbname)
        with suppress(errors.InsufficientPrivilege):
            conn.execute(sql.SQL("alter database {} set jit = off").format(database))


def migration_files() -> list[File]:
    """Returns the schema and every migration, by number; within a number ``before`` files first.

    Raises ValueError for a file name without number and phase.
    """
    folder = resources.files("ladder.database")
    migrations = _sql_files(folder / "migrations")
    for name, _ in migrations:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name}: name the file NNNN_before_*.sql or NNNN_after_*.sql")
    migrations.sort(key=lambda file: (file[0][:4], _is_after(file), file[0]))
    return [(SCHEMA, (folder / SCHEMA).read_text("utf-8")), *migrations]


def function_files() -> list[File]:
    """Returns every file of functions, by domain and name."""
    domains = [folder for folder in resources.files("ladder").iterdir() if folder.is_dir()]
    return sorted(
        (f"{domain.name}/{name}", text)
        for domain in domains
        for name, text in _sql_files(domain)
        if name != SCHEMA
    )


def _sql_files(folder: Traversable) -> list[File]:
    return [(f.name, f.read_text("utf-8")) for f in folder.iterdir() if f.name.endswith(".sql")]


def _is_after(file: File) -> bool:
    return file[0][4:].startswith("_after_")


def migrate(url: str, *, after: bool = False) -> MigrationResult:
    """Runs the migrations due before the roll-out, or with ``after`` all, and changed functions.

    Raises EarlierDatabase, MigrationChanged, FunctionChanged, TablesBusy.
    """
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("select pg_advisory_lock(%s)", (LOCK,))
        conn.execute(LOCK_WAIT)
        conn.execute(
            """create table if not exists migrations (
              name text primary key, checksum text not null,
              applied_at timestamptz not null default now())"""
        )
        checksums: dict[str, str] = dict(
            conn.execute("select name, checksum from migrations").fetchall()
        )
        _refuse_earlier_database(checksums)
        migrations = migration_files()
        names = {name for name, _ in migrations}
        if any("/" not in name for name in checksums.keys() - names):
            # A newer version has migrated this database. Its functions work with this version too.
            return MigrationResult([], [])
        for name, text in migrations:
            if checksums.get(name, digest(text)) != digest(text):
                raise MigrationChanged(
                    f"{name} was applied with other contents than it has now; give the version that"
                    " made this database, or a new database"
                )
        due = [file for file in migrations if file[0] not in checksums]
        later = [file for file in due if checksums and _is_after(file)]
        changed = [file for file in function_files() if checksums.get(file[0]) != digest(file[1])]
        applied = [file for file in due if file not in later]
        for file in applied:
            try_while_busy(partial(_run_files, conn, [file]))
        try_while_busy(lambda: _run_files(conn, changed))
        if after:
            for file in later:
                try_while_busy(partial(_run_files, conn, [file]))
        try_while_busy(lambda: ensure_partitions(conn, MONTHS_AHEAD))
        _revoke_rights_of_everybody(conn)
        turn_off_jit(conn)
    return MigrationResult(
        [name for name, _ in applied + changed + (later if after else [])],
        [] if after else [name for name, _ in later],
    )


def try_while_busy(act: Callable[[], T]) -> T:
    """Runs a transaction again until it gets its locks. Raises TablesBusy after BUSY_SECONDS."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return act()
        except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
            if time.monotonic() > until:
                raise TablesBusy(
                    "run the command again: other processes kept rows or a table locked for"
                    f" {BUSY_SECONDS:g} s ({error.diag.message_primary})"
                ) from None
            time.sleep(PAUSE_SECONDS)


def digest(text: str) -> str:
    """SHA-256 of a file's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_earlier_database(applied: Collection[str]) -> None:
    """Raises EarlierDatabase if migrations ran here and SCHEMA is not one of them."""
    if applied and SCHEMA not in applied:
        raise EarlierDatabase(
            f"an earlier version of Pecking Order made this database: it names {min(applied)}. This"
            " version has a new schema, cannot update it, and changed nothing. To keep its data,"
            " start the earlier version: `peck league export` and `peck api export-tournament`"
            " write results, the page /me/data a person's data, `pg_dump` everything. To begin"
            " anew, name an empty database (`peck up`: another folder with --state)"
        )


def _run_files(conn: psycopg.Connection, files: Sequence[File]) -> None:
    """Runs files and keeps their checksums, in one transaction."""
    with conn.transaction():
        for name, text in files:
            try:
                conn.execute(sql.SQL(text))
            except errors.InvalidFunctionDefinition as error:
                match = re.search(r"DROP FUNCTION (.+) first", error.diag.message_hint or "")
                function = f" {match.group(1)}" if match else ""
                raise FunctionChanged(
                    f"{name}:{function}: {error.diag.message_primary}. Processes of the previous"
                    " version still call it: give the new function a new name. Drop the old one a"
                    " version later, in a migration NNNN_after_drop_NAME.sql"
                ) from None
            conn.execute(
                """insert into migrations (name, checksum) values (%(name)s, %(checksum)s)
                on conflict (name) do update
                  set checksum = excluded.checksum, applied_at = now()""",
                {"name": name, "checksum": digest(text)},
            )


def ensure_partitions(conn: psycopg.Connection, months_ahead: int) -> list[str]:
    """Creates the monthly partitions from this month on; returns the names of new ones.

    A range is skipped if the default partition already has rows of it.
    """
    created = []
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
                created.append(name)
    return created


def _make_partition(
    conn: psycopg.Connection, table: str, key: str, name: str, bounds: list[str]
) -> bool:
    low, high = bounds
    if fetch_one(conn, bool, "select to_regclass(%s) is not null", (name,)):
        return False
    strays = exists(
        conn,
        sql.SQL("select 1 from {default} where {key} >= %s and {key} < %s limit 1").format(
            default=sql.Identifier(f"{table}_default"), key=sql.Identifier(key)
        ),
        (low, high),
    )
    if strays:
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
