"""What one API process holds, and the dependencies that hand it to routes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request
from psycopg_pool import ConnectionPool

from ladder.settings import Settings
from ladder.store.blobs import Blobs
from ladder.store.db import Connection
from services.api.boards import Boards

POOL_SIZE: Final = 20
AT_A_TIME: Final = 16
"""Routes that hold a connection. Fewer than the pool has, and those above it wait without a
thread: else waiting requests could take every thread from those that hold what they wait for."""


@dataclass(frozen=True, slots=True)
class State:
    """Opened when the application starts, closed when it stops; lies at ``app.state.peck``."""

    settings: Settings
    pool: ConnectionPool[Connection]
    blobs: Blobs
    boards: Boards


def state(request: Request) -> State:
    found: State = request.app.state.peck
    return found


def connection(request: Request) -> Iterator[Connection]:
    """One transaction around the route: committed before the answer leaves, rolled back on any
    error, a problem included."""
    with transaction(state(request)) as conn:
        yield conn


@contextmanager
def transaction(house: State) -> Iterator[Connection]:
    """One transaction. It is opened at once: on an idle connection the store's own savepoints would
    be transactions, and commit."""
    with house.pool.connection() as conn, conn.transaction():
        yield conn


House = Annotated[State, Depends(state)]
Db = Annotated[Connection, Depends(connection, scope="function", max_concurrency=AT_A_TIME)]
