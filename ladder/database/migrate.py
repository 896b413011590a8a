"""Updates a database: migrations, SQL functions and monthly partitions.

A migration (``migrations/NNNN_before_*.sql``, ``NNNN_fill_*.sql``, ``NNNN_after_*.sql``) runs once
and never changes. ``before`` files run before a roll-out and only add, so that processes of the
previous version keep working. Then come the functions, and the ``fill`` files give old rows values.
``after`` files run after these processes have ended. A new database gets
all of them.

Functions and triggers are files in their domain, such as ``matches/lease.sql``. A changed file runs
again. Several processes may migrate at the same time: an advisory lock lets one do the work.

A roll-out replaces processes one by one, so versions N and N-1 use one database together.
Migrations before the roll-out may only add; those after it may remove. Migrations that fill old
rows take no lock on a whole table, for which workers would wait. ``phase_violations`` reads the SQL
text.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, TypeVar

import psycopg
from psycopg import errors, sql

from ladder.database.db import exists, fetch, fetch_one, insert
from ladder.errors import LadderError
from ladder.ids import time_part
from ladder.telemetry import log_event

FIRST: Final = "0001_schema.sql"
NAME: Final = re.compile(r"\d{4}_(before|fill|after)_[a-z0-9_]+\.sql")


class Phase(Enum):
    """When a migration runs."""

    BEFORE = "before"
    """Before the roll-out, while the previous version still runs."""
    FILL = "fill"
    """As BEFORE, but with the functions of the new version: gives old rows values."""
    AFTER = "after"
    """After the roll-out, when all processes have the new version."""


LATER: Final = "move it to a file NNNN_after_*.sql"
ANEW: Final = (
    "add a new column, fill both, and drop the old one a version later in NNNN_after_*.sql"
)
FILLED: Final = (
    "the previous version writes rows without a value: give a default, or move it"
    " to a file NNNN_after_*.sql"
)
OUTSIDE: Final = (
    "others would wait until all rows are filled: move it to a file NNNN_before_*.sql or _after_*"
)
FILLING: Final = re.compile(r"(?:set\s+local|update|insert\s+into)\b|$", re.IGNORECASE)
CURRENT: Final = "write it in a .sql file of its domain"
FLAGS: Final = re.IGNORECASE | re.DOTALL
COLUMN: Final = r'(?:if\s+exists\s+)?(?!(?:constraint|not|expression|identity)\b)[\w"]+'
DESTRUCTIVE: Final = [
    (re.compile(pattern, FLAGS), remedy)
    for pattern, remedy in (
        (rf"\balter\s+table\b.*?\bdrop\s+(?:column\s+)?{COLUMN}", LATER),
        (
            r"\bdrop\s+(?:table|type|domain|view|materialized\s+view|sequence|schema|function|"
            r"procedure|routine|trigger|role|owned|extension)\b",
            LATER,
        ),
        (r"\balter\s+(?:column\s+)?[\w\"]+\s+(?:set\s+data\s+)?type\b", ANEW),
        (r"\brename\b", ANEW),
        (r"\bdelete\s+from\b", LATER),
        (r"\btruncate\b", LATER),
        (r"\brevoke\b", LATER),
    )
]
SET_NOT_NULL: Final = re.compile(r"\balter\s+(?:column\s+)?([\w\"]+)\s+set\s+not\s+null", FLAGS)
CLAUSE: Final = r"(?:[^,()]|\([^()]*(?:\([^()]*\)[^()]*)*\))"  # ends at a comma outside brackets
ADD_COLUMN: Final = re.compile(rf"\badd\s{CLAUSE}*?\bnot\s+null\b{CLAUSE}*", FLAGS)
OWN_VALUE: Final = re.compile(r"\b(?:default|generated)\b", FLAGS)
FUNCTION: Final = re.compile(
    r"\bcreate\s+(?:or\s+replace\s+)?(?:constraint\s+)?(?:function|procedure|trigger)\b", FLAGS
)
DROPPED: Final = re.compile(r"\bdrop\s+function\s+(?:if\s+exists\s+)?(\w+)", FLAGS)
NO_STATEMENT: Final = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)


def phase_of(name: str) -> Phase:
    """Returns the phase that a file's name gives. Raises ValueError for another form of name."""
    if name == FIRST:
        return Phase.BEFORE
    match = NAME.fullmatch(name)
    if match is None:
        raise ValueError(
            f"{name}: name the file NNNN_before_*.sql, NNNN_fill_*.sql or NNNN_after_*.sql"
        )
    return Phase(match.group(1))


def dropped_functions(name: str, text: str) -> list[str]:
    """Returns the names of the functions that an ``after`` file drops."""
    return (
        DROPPED.findall(_without_comments_and_strings(text))
        if phase_of(name) is Phase.AFTER
        else []
    )


def phase_violations(name: str, text: str) -> list[str]:
    """Returns the forbidden statements of a migration: ``file:line: statement; remedy``."""
    violations = [(at, statement, CURRENT) for at, statement in _find_in_statements(FUNCTION, text)]
    if phase_of(name) is Phase.FILL:
        violations += [(at, statement, OUTSIDE) for at, statement in _other_statements(text)]
    elif phase_of(name) is Phase.BEFORE:
        violations += [
            (at, statement, remedy)
            for pattern, remedy in DESTRUCTIVE
            for at, statement in _find_in_statements(pattern, text)
        ]
        violations += [
            (at, statement, FILLED) for at, statement in _required_columns_without_default(text)
        ]
    lines = [
        (text.count("\n", 0, at) + 1, statement, remedy)
        for at, statement, remedy in sorted(violations)
    ]
    return [
        f"{name}:{line}: {' '.join(statement.split())}; {remedy}"
        for line, statement, remedy in lines
    ]


def _without_comments_and_strings(text: str) -> str:
    """Replaces comments and strings by blanks; positions stay the same."""
    return NO_STATEMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yields each statement and its position."""
    for match in re.finditer(r"[^;]+", _without_comments_and_strings(text)):
        yield match.start(), match.group()


def _find_in_statements(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    for start, statement in _statements(text):
        for match in pattern.finditer(statement):
            yield start + match.start(), match.group()


def _other_statements(text: str) -> Iterator[tuple[int, str]]:
    """Yields the statements that a file which fills old rows must not have."""
    for start, statement in _statements(text):
        stripped = statement.strip()
        if not FILLING.match(stripped):
            yield start + statement.index(stripped), stripped


def _required_columns_without_default(text: str) -> Iterator[tuple[int, str]]:
    """Yields required columns that have no default."""
    for start, statement in _statements(text):
        if not re.match(r"\s*alter\s+table\b", statement, FLAGS):
            continue
        for match in ADD_COLUMN.finditer(statement):
            if not OWN_VALUE.search(match.group()):
                yield start + match.start(), match.group()
        for match in SET_NOT_NULL.finditer(statement):
            default = rf"\balter\s+(?:column\s+)?{re.escape(match[1])}\s+set\s+default\b"
            if not re.search(default, statement, FLAGS):
                yield start + match.start(), match.group()


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
        applied_checksums: dict[str, str] = dict(
            conn.execute("select name, checksum from migrations").fetchall()
        )
        migrations = migration_files()
        if applied_checksums.keys() - dict(migrations):
            # A newer version has migrated this database. Its functions work with this version too.
            return MigrationResult([], [])
        for name, text in migrations:
            if applied_checksums.get(name, digest(text)) != digest(text):
                raise MigrationChanged(
                    f"{name} was applied with other contents than it has now; give the version that"
                    " made this database, or a new database"
                )
        due = [file for file in migrations if file[0] not in applied_checksums]
        later = [file for file in due if applied_checksums and phase_of(file[0]) is Phase.AFTER]
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


def _log_warning(diagnostic: psycopg.errors.Diagnostic) -> None:
    if diagnostic.severity_nonlocalized == "WARNING":
        log_event("migration_warning", level="warning", warning=diagnostic.message_primary)


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
        insert(conn, "migrations", name=name, checksum=digest(text))


def _run_changed_functions(conn: psycopg.Connection, migrations: Sequence[File]) -> list[str]:
    """Runs the changed files of functions in one transaction; returns their names."""
    current = function_files()
    rows = conn.execute("select name, checksum, defines from function_files").fetchall()
    checksums = {name: checksum for name, checksum, _ in rows}
    changed = [(name, text) for name, text in current if checksums.get(name) != digest(text)]
    removed = list(checksums.keys() - dict(current))
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
        match = re.search(r"DROP FUNCTION (.+) first", error.diag.message_hint or "")
        function = f" {match.group(1)}" if match else ""
        raise FunctionChanged(
            f"{name}:{function}: {error.diag.message_primary}. Processes of the"
            " previous version still call it: give the new function a new name."
            " Drop the old one a version later, in a migration"
            " NNNN_after_drop_NAME.sql"
        ) from None
    conn.execute(
        """insert into function_files (name, checksum, defines)
        values (%(name)s, %(checksum)s, %(defines)s)
        on conflict (name) do update set checksum = excluded.checksum, defines = excluded.defines,
          applied_at = now()""",
        {"name": name, "checksum": digest(text), "defines": FUNCTION_DEFINITION.findall(text)},
    )


def _refuse_undefined_functions(
    conn: psycopg.Connection,
    defined: Counter[str],
    earlier: set[str],
    migrations: Sequence[File],
) -> None:
    """Raises FunctionChanged for a function that no file defines and no ``after`` file drops."""
    query = """select proname, array_agg(oid::regprocedure::text order by oid) from pg_proc
        where pronamespace = 'public'::regnamespace and proname = any (%(proname)s)
        group by proname order by proname"""
    rows = conn.execute(query, {"proname": sorted(earlier | defined.keys())})
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
