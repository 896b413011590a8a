"""Keeps a connection to Postgres between the calls of a process that calls often.

To open a connection costs both sides about 20 ms of processor time: a process of the server, the
check of the password, and the plans of all queries. A connection that nobody used for KEPT_SECONDS
is closed, so a process that calls rarely takes none of the server's connections meanwhile.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from ladder.database.db import CONNECT_SECONDS, DEAD_AFTER, Connection

KEPT_SECONDS: Final = 1.0


class KeptConnection:
    """At most one unused connection. Threads may share it: each call has a connection alone."""

    def __init__(
        self,
        url: str,
        *,
        autocommit: bool = False,
        kept_seconds: float = KEPT_SECONDS,
        is_pooled: bool = False,
    ) -> None:
        """``is_pooled``: PgBouncer may stand before Postgres and change servers between calls. Then
        no statement is prepared, because the next server would not know it."""
        self._url, self._autocommit, self._kept_seconds = url, autocommit, kept_seconds
        self._is_pooled = is_pooled
        self._lock = threading.Lock()
        self._unused: Connection | None = None
        self._unused_since = 0.0
        self._closer: threading.Thread | None = None

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """Yields a connection and commits at the end. After an error it is closed, uncommitted.

        With ``autocommit`` each statement is a transaction of its own, which saves two round trips.
        Raises psycopg.OperationalError if Postgres does not answer.
        """
        with self._lock:
            conn, self._unused = self._unused, None
        if conn is not None and _is_broken(conn):
            conn.close()
            conn = None
        if conn is None:
            conn = psycopg.connect(
                self._url,
                autocommit=self._autocommit,
                connect_timeout=CONNECT_SECONDS,
                **DEAD_AFTER,
            )
            if self._is_pooled:
                conn.prepare_threshold = None
        try:
            yield conn
            conn.commit()
        except BaseException:
            conn.close()
            raise
        self._keep(conn)

    def close(self) -> None:
        """Closes the unused connection, if there is one."""
        with self._lock:
            conn, self._unused = self._unused, None
        if conn is not None:
            conn.close()

    def _keep(self, conn: Connection) -> None:
        with self._lock:
            surplus, self._unused = self._unused, conn
            self._unused_since = time.monotonic()
            if self._closer is None:
                self._closer = threading.Thread(
                    target=self._close_when_unused, name="kept connection", daemon=True
                )
                self._closer.start()
        if surplus is not None:
            surplus.close()

    def _close_when_unused(self) -> None:
        while True:
            with self._lock:
                left = self._unused_since + self._kept_seconds - time.monotonic()
                if left <= 0:
                    conn, self._unused, self._closer = self._unused, None, None
                    break
            time.sleep(left)
        if conn is not None:
            conn.close()


def _is_broken(conn: Connection) -> bool:
    """Whether the server closed an unused connection, or sent what nobody asked for."""
    if conn.closed:
        return True
    look = select.poll()
    look.register(conn.fileno(), select.POLLIN)
    return bool(look.poll(0))
