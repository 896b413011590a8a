"""The state of one API process, and the dependencies that give routes access to it."""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Final, TypeVar

import psycopg
from cachetools import LRUCache
from fastapi import Depends, Request
from psycopg_pool import ConnectionPool, PoolTimeout

from ladder.database import db
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.people.identities import ProviderClient
from ladder.people.passwords import PasswordHashing
from ladder.settings import Settings
from services.http.attempt_limits import AttemptLimits
from services.http.body_limits import LoopClock
from services.http.leaderboard_cache import LeaderboardCache
from services.http.live_matches import LiveMatches
from services.http.mailing import Mailer
from services.http.metrics import ApiMetrics
from services.http.reader_limits import ExportSlots, StreamLimits, WatcherLimits
from services.http.stream_signals import Ending, NotificationListener
from services.http.uploads import UploadSlots
from services.server_faults import RememberedFaults, ServerFault

MOST_REPLAY_BYTES: Final = 32 << 20
"""Most bytes of gzipped documents in one process."""


class ReplayCache:
    """Gzipped documents of this process. Drops the least recently used. Thread-safe.

    The rules compute an episode from its replay. For a board of 100 x 100 that takes half a second;
    the result has a few kilobytes. So one request computes the episode, and later or waiting
    requests get its result.
    """

    def __init__(self, most_bytes: int = MOST_REPLAY_BYTES) -> None:
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._kept: LRUCache[Hashable, bytes] = LRUCache(most_bytes, len)

    def get_or_compress(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """The document of this key, gzipped. Makes one document at a time, because each takes a
        core. Threads that wait for the same key share the result. Passes on what ``make``
        raises."""
        found = self._find(key)
        if found is None:
            with self._making:
                found = self._find(key)
                if found is None:
                    found = gzip.compress(make(), compresslevel=5, mtime=0)
                    with (
                        self._lock,
                        contextlib.suppress(ValueError),
                    ):  # larger than the cache: not stored
                        self._kept[key] = found
        return found

    def _find(self, key: Hashable) -> bytes | None:
        with self._lock:
            return self._kept.get(key)


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
