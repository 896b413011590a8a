"""What one API process holds, and the dependencies that hand it to routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Final, TypeVar

import psycopg
from fastapi import Depends, Request
from psycopg_pool import ConnectionPool, PoolTimeout

from ladder.database import db
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.settings import Settings
from services.http.boards import Boards
from services.http.listening import Listener
from services.http.measures import Measures
from services.http.replays import Replays
from services.http.streams import Streams
from services.http.uploads import Intake

T = TypeVar("T")
POOL_SIZE: Final = 20
READS_AT_A_TIME: Final = 4
NEWS_AT_A_TIME: Final = 2
WAIT_SECONDS: Final = 5.0  # for a connection; after that the answer is 503
AT_A_TIME: Final = 16
"""Routes that hold a connection. Fewer than the pool has, and those above it wait without a
thread: else waiting requests could take every thread from those that hold what they wait for."""


@dataclass(frozen=True, slots=True)
class State:
    """Opened when the application starts, closed when it stops; lies at ``app.state.peck``."""

    settings: Settings
    pool: ConnectionPool[Connection]
    reads: ConnectionPool[Connection]
    """Autocommit and unchecked: one round trip a query, for `read`."""
    news: ConnectionPool[Connection]
    """The same for event streams, so that however many there are no page waits for them."""
    blobs: Blobs
    boards: Boards
    intake: Intake
    measures: Measures
    listener: Listener = field(default_factory=Listener)
    streams: Streams = field(default_factory=Streams)
    replays: Replays = field(default_factory=Replays)


def state(request: Request) -> State:
    found: State = request.app.state.peck
    return found


async def house(request: Request) -> State:
    """The same, without the thread that FastAPI gives to a dependency that may block."""
    return state(request)


def read(pool: ConnectionPool[Connection], work: Callable[[Connection], T]) -> T:
    """What ``work`` reads, outside a transaction and in as few round trips as it has queries.

    Connections are not checked before; after a restart of the server it is done a second time.
    """
    try:
        with pool.connection(WAIT_SECONDS) as conn:
            return work(conn)
    except PoolTimeout:
        raise
    except psycopg.OperationalError:
        pool.check()
        with pool.connection(WAIT_SECONDS) as conn:
            return work(conn)


def read_pool(url: str, size: int) -> ConnectionPool[Connection]:
    """A closed pool for `read`."""
    return ConnectionPool(
        url,
        min_size=1,
        max_size=size,
        open=False,
        kwargs={"connect_timeout": db.CONNECT_SECONDS, "autocommit": True},
    )


def connection(request: Request) -> Iterator[Connection]:
    """One transaction around the route: committed before the answer leaves, rolled back on any
    error, a problem included."""
    with transaction(state(request)) as conn:
        yield conn


@contextmanager
def transaction(found: State) -> Iterator[Connection]:
    """One transaction. It is opened at once: on an idle connection the savepoints of ``ladder``
    would be transactions, and commit."""
    with found.pool.connection(WAIT_SECONDS) as conn, conn.transaction():
        yield conn


House = Annotated[State, Depends(house)]
Db = Annotated[Connection, Depends(connection, scope="function", max_concurrency=AT_A_TIME)]
