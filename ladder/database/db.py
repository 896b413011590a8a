"""Connects to Postgres, reads records and writes rows.

Functions of ``ladder`` take a connection; callers own the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import is_dataclass
from enum import Enum
from functools import cache, wraps
from types import NoneType
from typing import (
    Any,
    Concatenate,
    Final,
    ParamSpec,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import BaseRowFactory, args_row, kwargs_row, tuple_row
from psycopg_pool import ConnectionPool

from ladder.errors import LadderError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Connection = psycopg.Connection[Any]
Query = str | sql.SQL | sql.Composed
Values = Sequence[Any] | Mapping[str, Any]
WORKER_ROLE: Final = "peck_worker"
NOTIFIER_ROLE: Final = "peck_notifier"
MACHINE_ROLE: Final = "peck_machine"
"""Has the logins of machines as members, and no login of its own."""
CONNECT_SECONDS: Final = 10
DEAD_AFTER: Final[dict[str, Any]] = {
    "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}  # fmt: skip
"""After about 25 seconds without a sign of the server a connection over a network is lost."""
TEMPORARY_FILES: Final = "16MB"
"""Temporary files that a connection of a lesser role may have. Its functions need none."""
ERASED: Final = "PK003"
"""SQLSTATE of a row that a deleted account would write (privacy/erasing.sql)."""


def connect(url: str, *, autocommit: bool = False) -> Connection:
    """Opens a connection; ``with`` commits or rolls back, then closes it."""
    return psycopg.connect(
        url, autocommit=autocommit, connect_timeout=CONNECT_SECONDS, **DEAD_AFTER
    )


class DatabaseUnreachable(LadderError):
    """The database cannot be reached."""


NO_ADDRESS: Final = (
    "write the address of the database as postgresql://USER@HOST/NAME, with %40 for @ and %2F for /"
    " in a password: it is no address of Postgres"
)


def require_reachable(url: str) -> None:
    """Connects once. Raises DatabaseUnreachable with the address, but without the password."""
    try:
        address = address_without_login(url)
        connect(url).close()
    except psycopg.OperationalError as error:
        reason = " ".join(str(error).split())
        raise DatabaseUnreachable(f"cannot reach the database at {address}: {reason}") from None
    except psycopg.ProgrammingError:  # its text may hold a part of the password
        raise DatabaseUnreachable(NO_ADDRESS) from None


def address_without_login(url: str) -> str:
    """Host, port and name of the database at this address. Raises DatabaseUnreachable if a part of
    the password would be among them."""
    parts = {name: str(value or "") for name, value in conninfo_to_dict(url).items()}
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    name, port = parts.get("dbname", ""), parts.get("port", "")
    if "@" in host + name + port:  # the password has an unquoted @ or /
        raise DatabaseUnreachable(NO_ADDRESS)
    return f"{host}{':' if port else ''}{port}, database {name or 'of the same name as the user'}"


@contextmanager
def atomic(conn: Connection) -> Iterator[None]:
    """Makes all statements inside succeed or fail together; the caller's transaction commits.

    ``conn.transaction()`` alone would commit at its end if no transaction has begun.
    """
    if not conn.autocommit and conn.info.transaction_status is TransactionStatus.IDLE:
        conn.execute("select 1")  # begins the caller's transaction
    with conn.transaction():
        yield


def atomic_function(
    act: Callable[Concatenate[Connection, P], T],
) -> Callable[Concatenate[Connection, P], T]:
    """Makes all statements of a function one ``atomic`` block."""

    @wraps(act)
    def wrapped(conn: Connection, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with atomic(conn):
            return act(conn, *args, **kwargs)

    return wrapped


def fetch(conn: Connection, record: Callable[..., R], query: Query, values: Values = ()) -> list[R]:
    """Returns what ``record`` makes of each row.

    A dataclass or Struct takes the columns by the names of its fields; texts become its enums and
    arrays its tuples. A type such as ``int`` or an enum takes the only column. ``tuple[int, str]``,
    a function and a NamedTuple take all columns in their order.
    """
    with conn.cursor(row_factory=_row_factory(record)) as cursor:
        return cursor.execute(query, values).fetchall()


def fetch_optional(
    conn: Connection, record: Callable[..., R], query: Query, values: Values = ()
) -> R | None:
    """Returns what ``record`` makes of the first row, as `fetch`; None without a row."""
    with conn.cursor(row_factory=_row_factory(record)) as cursor:
        return cursor.execute(query, values).fetchone()


def fetch_one(
    conn: Connection,
    record: Callable[..., R],
    query: Query,
    values: Values = (),
    missing: LadderError | None = None,
) -> R:
    """Returns what ``record`` makes of the first row, as `fetch`. Without a row raises ``missing``.

    Leave ``missing`` out for a statement that always has a row, such as a count.
    """
    with conn.cursor(row_factory=_row_factory(record)) as cursor:
        for row in cursor.execute(query, values):
            return row
    raise missing or LookupError(f"the statement returned no row: {query}")


def exists(conn: Connection, query: Query, values: Values = ()) -> bool:
    """Whether the query returns a row."""
    return conn.execute(query, values).fetchone() is not None


def insert(conn: Connection, table: str, **values: object) -> None:
    """Inserts a row with these columns."""
    conn.execute(_insert_statement(table, tuple(values)), values)


def update(conn: Connection, table: str, key: Mapping[str, object], **values: object) -> int:
    """Sets these columns in the rows whose columns have the values of ``key``; returns how many.

    The names of the columns that it sets and of those in ``key`` differ.
    """
    statement = _update_statement(table, tuple(key), tuple(values))
    return conn.execute(statement, {**key, **values}).rowcount


@cache
def _insert_statement(table: str, columns: tuple[str, ...]) -> sql.Composed:
    return sql.SQL("insert into {} ({}) values ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(", ").join(map(sql.Placeholder, columns)),
    )


@cache
def _update_statement(table: str, key: tuple[str, ...], columns: tuple[str, ...]) -> sql.Composed:
    def equations(names: tuple[str, ...], separator: str) -> sql.Composed:
        pairs = [sql.SQL("{} = {}").format(sql.Identifier(n), sql.Placeholder(n)) for n in names]
        return sql.SQL(separator).join(pairs)

    return sql.SQL("update {} set {} where {}").format(
        sql.Identifier(table), equations(columns, ", "), equations(key, " and ")
    )


def _row_factory(record: Callable[..., R]) -> BaseRowFactory[R]:
    if is_dataclass(record) or hasattr(record, "__struct_fields__"):
        return kwargs_row(_maker(record))
    kind = get_origin(record) or record
    if kind is tuple:
        return tuple_row  # type: ignore[return-value]
    if isinstance(kind, type) and not hasattr(kind, "_fields"):
        return args_row(_only_column(kind))
    return args_row(record)


@cache
def _maker(record: Callable[..., R]) -> Callable[..., R]:
    """Makes a record of columns by name."""
    hints = get_type_hints(record)
    converters = {name: c for name, kind in hints.items() if (c := _converter(kind)) is not None}
    if not converters:
        return record

    def make(**values: Any) -> R:
        for name in converters.keys() & values.keys():
            if values[name] is not None:
                values[name] = converters[name](values[name])
        return record(**values)

    return make


def _converter(kind: Any) -> Callable[[Any], Any] | None:
    """What makes a value of this type from a column; None for a type that needs nothing."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    origin, parts = get_origin(kind), [part for part in get_args(kind) if part is not NoneType]
    if origin in (tuple, frozenset):
        element = _converter(parts[0])
        return origin if element is None else lambda array: origin(map(element, array))
    if len(parts) == 1 and NoneType in get_args(kind):
        return _converter(parts[0])
    return None


def _only_column(kind: Any) -> Callable[[Any], Any]:
    return lambda value: value if value is None or isinstance(value, kind) else kind(value)


def pool(url: str, max_size: int) -> ConnectionPool[Connection]:
    """Creates a closed pool; call ``open()`` when the process starts and ``close()`` when it ends.

    ``with pool.connection() as conn`` is one transaction. The pool checks a connection before use,
    so a restarted server fails no request.
    """
    return ConnectionPool(
        url,
        min_size=1,
        max_size=max_size,
        open=False,
        configure=use_one_process,
        check=ConnectionPool.check_connection,
        kwargs={"connect_timeout": CONNECT_SECONDS, **DEAD_AFTER},
    )


def use_one_process(conn: Connection) -> None:
    """Lets each query of this connection run in one process of the server.

    Requests ask for few rows: on a busy machine the start of parallel workers takes longer than the
    query.
    """
    conn.execute("set max_parallel_workers_per_gather = 0")
    conn.commit()


def listen(
    url: str, channels: Sequence[str], *, poll_seconds: float = 5.0
) -> Iterator[psycopg.Notify | None]:
    """Yields notifications of these channels, and None after ``poll_seconds`` without one.

    Keeps a connection until the generator is closed. A notification only wakes the caller, which
    reads the facts from the rows. Raises psycopg.OperationalError when the server disconnects.
    """
    with closing(connect(url, autocommit=True)) as conn:
        for channel in channels:
            conn.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        while True:
            quiet = True
            for notify in conn.notifies(timeout=poll_seconds, stop_after=1):
                quiet = False
                yield notify
            if quiet:
                yield None


def set_worker_login(conn: Connection, password: str | None) -> None:
    """Lets workers log in as ``peck_worker``, with this password or, for None, without one."""
    set_login(conn, WORKER_ROLE, password)


def set_login(conn: Connection, role: str, password: str | None) -> None:
    """Lets a lesser role log in, with this password or, for None, without one.

    The password is hashed here, so the server's log does not show it. The role belongs to the
    server, not to one database. Limits its temporary files, if our role may set the limit.
    """
    secret: sql.Composable = sql.SQL("null")
    if password is not None:
        hashed = conn.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
        secret = sql.Literal(hashed.decode())
    name = sql.Identifier(role)
    conn.execute(sql.SQL("alter role {} login password {}").format(name, secret))
    with suppress(errors.InsufficientPrivilege), atomic(conn):
        limit = sql.Literal(TEMPORARY_FILES)
        conn.execute(sql.SQL("alter role {} set temp_file_limit = {}").format(name, limit))


def has_file_limit(conn: Connection, role: str) -> bool:
    """Whether the temporary files of a role are limited, by itself or by the server."""
    query = """select 1 from pg_roles
        where rolname = %s
          and (current_setting('temp_file_limit') <> '-1' or %s = any (rolconfig))"""
    return exists(conn, query, (role, f"temp_file_limit={TEMPORARY_FILES}"))
