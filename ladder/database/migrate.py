"""Updates a database: migrations, SQL functions and monthly partitions.

A migration (``migrations/NNNN_before_*.sql``, ``NNNN_fill_*.sql``, ``NNNN_after_*.sql``) runs once
and never changes. ``before`` files run before a roll-out and only add, so that processes of the
previous version keep working. Then come the functions, and the ``fill`` files give old rows values.
``after`` files run after these processes have ended (``migration_phases.py``). A new database gets
all of them.

Functions and triggers are files in their domain, such as ``matches/lease.sql``. A changed file runs
again. Several processes may migrate at the same time: an advisory lock lets one do the work.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, TypeVar

import psycopg
from psycopg import errors, sql

from ladder.database.migration_phases import FIRST, Phase, dropped_functions, phase_of
from ladder.errors import LadderError
from ladder.ids import time_part
from ladder.telemetry import log_event

LOCK: Final = 0x7065636B  # "peck": the advisory lock of migrations
LOCK_WAIT: Final = "set lock_timeout = '500ms'"
"""Longest wait of a migration for a lock: all requests for the table wait behind it."""
FILL_LOCK_WAIT: Final = "set lock_timeout = '10s'"
"""The same limit for a fill file, which locks only rows and restarts from its beginning."""
BUSY_SECONDS: Final = 120.0
PAUSE_SECONDS: Final = 0.5
MONTHS_AHEAD: Final = 2
PARTITIONED: Final = {
    "matches": "id",
    "seats": "match_id",
    "attempts": "match_id",
    "ratings": "match_id",
}
FUNCTION_DEFINITION: Final = re.compile(r"^create or replace function (\w+)", re.MULTILINE)
T = TypeVar("T")
File = tuple[str, str]
"""Name and text of a file."""


class MigrationChanged(LadderError):
    """The contents of an applied migration have changed; restore the file and add a new one."""


class FunctionChanged(LadderError):
    """A function has other arguments or another result, or is gone, one version too early."""


class TablesBusy(LadderError):
    """Other processes kept the locks of tables for too long; run the command again."""


class EarlierDatabase(LadderError):
    """The database was made by an earlier version, whose data cannot be migrated."""


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
    functions = conn.execute(
        "select oid::regprocedure::text from pg_proc where proname ~ %s"
        " and pronamespace = 'pg_catalog'::regnamespace"
        " and has_function_privilege('public', oid, 'execute')"
        " and (select rolsuper from pg_roles where rolname = current_user)",
        (OPEN_FUNCTIONS,),
    ).fetchall()
    if functions:
        names = sql.SQL(", ").join(sql.SQL(name) for (name,) in functions)
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
    """Returns every migration by number; within a number by phase."""
    return sorted(_sql_files(resources.files("ladder.database") / "migrations"), key=_file_order)


def function_files() -> list[File]:
    """Returns every file of functions, by domain and name."""
    domains = [folder for folder in resources.files("ladder").iterdir() if folder.is_dir()]
    return sorted(
        (f"{domain.name}/{name}", text) for domain in domains for name, text in _sql_files(domain)
    )


def _sql_files(folder: Traversable) -> list[File]:
    return [(f.name, f.read_text("utf-8")) for f in folder.iterdir() if f.name.endswith(".sql")]


def _file_order(file: File) -> tuple[str, int, str]:
    name, _ = file
    return name[:4], list(Phase).index(phase_of(name)), name


def migrate(url: str, *, after: bool = False) -> MigrationResult:
    """Runs the migrations due before the roll-out, or with ``after`` all, and changed functions.

    Raises EarlierDatabase, MigrationChanged, FunctionChanged.
    """
    with psycopg.connect(url, autocommit=True) as conn:
        conn.add_notice_handler(_log_warning)
        conn.execute("select pg_advisory_lock(%s)", (LOCK,))
        _refuse_earlier_database(conn)
        conn.execute(LOCK_WAIT)
        _create_migration_tables(conn)
        known: dict[str, str] = dict(
            conn.execute("select name, checksum from migrations").fetchall()
        )
        migrations = migration_files()
        if known.keys() - dict(migrations):
            # A newer version has migrated this database. Its functions work with this version too.
            return MigrationResult([], [])
        for name, text in migrations:
            if known.get(name, digest(text)) != digest(text):
                raise MigrationChanged(
                    f"{name} was applied with other contents than it has now; give the version that"
                    " made this database, or a new database"
                )
        due = [file for file in migrations if file[0] not in known]
        later = [file for file in due if known and phase_of(file[0]) is Phase.AFTER]
        fills = [file for file in due if phase_of(file[0]) is Phase.FILL]
        applied = _run_migrations(conn, [file for file in due if file not in later + fills])
        applied += try_while_busy(lambda: _run_changed_functions(conn, migrations))
        conn.execute(FILL_LOCK_WAIT)
        applied += _run_migrations(conn, fills)
        conn.execute(LOCK_WAIT)
        if after:
            applied += _run_migrations(conn, later)
        try_while_busy(lambda: ensure_partitions(conn, MONTHS_AHEAD))
        _revoke_rights_of_everybody(conn)
        turn_off_jit(conn)
    return MigrationResult(applied, [] if after else [name for name, _ in later])


def _log_warning(told: psycopg.errors.Diagnostic) -> None:
    if told.severity_nonlocalized == "WARNING":
        log_event("migration_warning", level="warning", warning=told.message_primary)


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


def _refuse_earlier_database(conn: psycopg.Connection) -> None:
    """Raises EarlierDatabase if migrations ran here without our first one."""
    if conn.execute("select to_regclass('migrations')").fetchone() == (None,):
        return
    names = {name for (name,) in conn.execute("select name from migrations")}
    if names and FIRST not in names:
        raise EarlierDatabase(
            "this database was made by an earlier version of Pecking Order and"
            " cannot be migrated: use a new database (`peck up`: another folder"
            " with --state), or remove this one"
        )


def _create_migration_tables(conn: psycopg.Connection) -> None:
    conn.execute(
        "create table if not exists migrations (name text primary key, checksum text not null,"
        " applied_at timestamptz not null default now())"
    )
    conn.execute(
        "create table if not exists function_files (name text primary key,"
        " checksum text not null, defines text[] not null,"
        " applied_at timestamptz not null default now())"
    )


def _run_migrations(conn: psycopg.Connection, migrations: Sequence[File]) -> list[str]:
    """Runs migrations, each in a transaction with its row; returns their names."""
    for file in migrations:
        try_while_busy(partial(_run_migration, conn, file))
    return [name for name, _ in migrations]


def _run_migration(conn: psycopg.Connection, file: File) -> None:
    name, text = file
    with conn.transaction():
        conn.execute(sql.SQL(text))
        conn.execute(
            "insert into migrations (name, checksum) values (%s, %s)", (name, digest(text))
        )


def _run_changed_functions(conn: psycopg.Connection, migrations: Sequence[File]) -> list[str]:
    """Runs the changed files of functions in one transaction; returns their names."""
    current = function_files()
    rows = conn.execute("select name, checksum, defines from function_files").fetchall()
    known = {name: checksum for name, checksum, _ in rows}
    changed = [(name, text) for name, text in current if known.get(name) != digest(text)]
    removed = list(known.keys() - dict(current))
    if not changed and not removed:
        return []
    with conn.transaction():
        for name, text in changed:
            _run_file(conn, name, text)
        conn.execute("delete from function_files where name = any (%s)", (removed,))
        defined = Counter(name for _, text in current for name in FUNCTION_DEFINITION.findall(text))
        earlier = {name for _, _, names in rows for name in names}
        _refuse_undefined_functions(conn, defined, earlier, migrations)
    return [name for name, _ in changed]


def _run_file(conn: psycopg.Connection, name: str, text: str) -> None:
    try:
        conn.execute(sql.SQL(text))
    except errors.InvalidFunctionDefinition as error:
        found = re.search(r"DROP FUNCTION (.+) first", error.diag.message_hint or "")
        which = f" {found.group(1)}" if found else ""
        raise FunctionChanged(
            f"{name}:{which}: {error.diag.message_primary}. Processes of the"
            " previous version still call it: give the new function a new name."
            " Drop the old one a version later, in a migration"
            " NNNN_after_drop_NAME.sql"
        ) from None
    conn.execute(
        "insert into function_files (name, checksum, defines) values (%s, %s, %s)"
        " on conflict (name) do update set checksum = excluded.checksum,"
        " defines = excluded.defines, applied_at = now()",
        (name, digest(text), FUNCTION_DEFINITION.findall(text)),
    )


def _refuse_undefined_functions(
    conn: psycopg.Connection,
    defined: Counter[str],
    earlier: set[str],
    migrations: Sequence[File],
) -> None:
    """Raises FunctionChanged for a function that no file defines and no ``after`` file drops."""
    rows = conn.execute(
        "select proname, array_agg(oid::regprocedure::text order by oid) from pg_proc"
        " where pronamespace = 'public'::regnamespace and proname = any (%s)"
        " group by proname order by proname",
        (sorted(earlier | defined.keys()),),
    )
    dropped = {name for file, text in migrations for name in dropped_functions(file, text)}
    for name, forms in rows:
        if len(forms) > defined[name] and name not in dropped:
            raise FunctionChanged(
                f"the database has {' and '.join(forms)}, the files define"
                f" {defined[name]} of these. Processes of the previous version"
                " still call the old function: keep both. Drop the old one a"
                f" version later, in a migration NNNN_after_drop_{name}.sql"
            )


def ensure_partitions(conn: psycopg.Connection, months_ahead: int) -> list[str]:
    """Creates the monthly partitions from this month on; returns the names of new ones.

    A range is skipped if the default partition already has rows of it.
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
