"""The state of one API process, and the dependencies that give routes access to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Final, TypeVar

import psycopg
from fastapi import Depends, Request
from psycopg_pool import ConnectionPool, PoolTimeout

from ladder.database import db
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.people.identities import ProviderClient
from ladder.people.passwords import PasswordHashing
from ladder.settings import Settings
from services.http.attempt_limits import AttemptLimits
from services.http.ending import Ending
from services.http.export_slots import ExportSlots
from services.http.leaderboard_cache import LeaderboardCache
from services.http.live_limits import WatcherLimits
from services.http.live_matches import LiveMatches
from services.http.loop_clock import LoopClock
from services.http.mailing import Mailer
from services.http.metrics import ApiMetrics
from services.http.notifications import NotificationListener
from services.http.replay_cache import ReplayCache
from services.http.stream_limits import StreamLimits
from services.http.uploads import UploadSlots
from services.server_faults import RememberedFaults, ServerFault

T = TypeVar("T")
POOL_SIZE: Final = 20
READS_AT_A_TIME: Final = 4
NEWS_AT_A_TIME: Final = 2
WAIT_SECONDS: Final = 5.0  # wait for a connection; then the answer is 503
AT_A_TIME: Final = 16
"""Routes that may hold a connection at a time. It is below the pool's size; further routes wait
without a thread. Otherwise waiting requests could take every thread from the routes that hold
connections."""


@dataclass(frozen=True, slots=True)
class State:
    """State opened at the application's start and closed at its end; found at
    ``app.state.peck``."""

    settings: Settings
    pool: ConnectionPool[Connection]
    reads: ConnectionPool[Connection]
    """Autocommit and unchecked connections for `read_rows`: one round trip a query."""
    news: ConnectionPool[Connection]
    """The same for event streams: pages never wait for streams."""
    blobs: Blobs
    boards: LeaderboardCache
    intake: UploadSlots
    measures: ApiMetrics
    hashing: PasswordHashing
    attempts: AttemptLimits
    live: LiveMatches
    ending: Ending
    watchers: WatcherLimits
    faults: RememberedFaults
    mailer: Mailer | None = None
    """None: the operator set no mail server."""
    providers: Mapping[str, ProviderClient] = field(default_factory=dict)
    """Identity providers by key, in the operator's order."""
    listener: NotificationListener = field(default_factory=NotificationListener)
    streams: StreamLimits = field(default_factory=StreamLimits)
    replays: ReplayCache = field(default_factory=ReplayCache)
    exports: ExportSlots = field(default_factory=ExportSlots)
    clock: LoopClock = field(default_factory=LoopClock)

    @property
    def issuers(self) -> frozenset[str]:
        """The issuers of the configured identity providers."""
        return frozenset(client.provider.issuer for client in self.providers.values())


def app_state_of(request: Request) -> State:
    state: State = request.app.state.peck
    return state


async def app_state(request: Request) -> State:
    """The state, without the thread that FastAPI gives to a dependency that may block."""
    return app_state_of(request)


def read_rows(pool: ConnectionPool[Connection], work: Callable[[Connection], T]) -> T:
    """Returns what ``work`` reads, outside a transaction: one round trip for each query.

    The pool does not check connections first. After a restart of the server, ``work`` runs a second
    time.
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
    """A closed pool for `read_rows`."""
    return ConnectionPool(
        url,
        min_size=1,
        max_size=size,
        open=False,
        configure=db.use_one_process,
        kwargs={"connect_timeout": db.CONNECT_SECONDS, "autocommit": True},
    )


def connection(request: Request) -> Iterator[Connection]:
    """One transaction around the route. Commits before the answer is sent; rolls back on any error,
    also on a ProblemError."""
    with transaction(app_state_of(request)) as conn:
        yield conn


@contextmanager
def transaction(state: State) -> Iterator[Connection]:
    """One transaction. Begins at once: on an idle connection the savepoints of ``ladder`` would
    become transactions and commit."""
    with state.pool.connection(WAIT_SECONDS) as conn, conn.transaction():
        yield conn


AppState = Annotated[State, Depends(app_state)]


def server_faults(app_state: AppState) -> list[ServerFault]:
    """The faults of Redis and of the blob store. Takes seconds while a server hangs."""
    return app_state.faults.find()


Faults = Annotated[list[ServerFault], Depends(server_faults)]
"""Put it before ``Db`` in a signature: then the route asks the servers before it holds a
connection."""
Db = Annotated[Connection, Depends(connection, scope="function", max_concurrency=AT_A_TIME)]
