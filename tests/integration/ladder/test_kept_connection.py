"""A kept connection is used again, replaced after a loss, and closed when unused."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from ladder.database.db import Connection, connect
from ladder.database.kept_connection import KeptConnection
from tests.waiting import wait_until


@pytest.fixture
def kept(database_url: str) -> Iterator[KeptConnection]:
    made = KeptConnection(database_url, kept_seconds=3600.0)
    yield made
    made.close()


def backend(kept: KeptConnection) -> int:
    """The process of the server that answers the next call."""
    with kept.use() as conn:
        return conn.info.backend_pid


def test_calls_share_a_connection_and_each_is_committed(
    database_url: str, kept: KeptConnection
) -> None:
    with kept.use() as conn:
        first = conn.info.backend_pid
        conn.execute("insert into erased_blobs (digest) values ('kept')")
    with connect(database_url) as other:
        assert other.execute("select digest from erased_blobs").fetchone() == ("kept",)
    assert backend(kept) == first


def test_an_error_undoes_its_call_and_ends_the_connection(kept: KeptConnection) -> None:
    first = backend(kept)

    def fail() -> None:
        with kept.use() as conn:
            conn.execute("insert into erased_blobs (digest) values ('undone')")
            conn.execute("select 1 / 0")

    with pytest.raises(psycopg.errors.DivisionByZero):
        fail()
    with kept.use() as conn:
        assert conn.info.backend_pid != first
        assert conn.execute("select digest from erased_blobs").fetchone() is None


def test_a_connection_that_the_server_ended_is_replaced(
    database_url: str, kept: KeptConnection
) -> None:
    first = backend(kept)
    with connect(database_url) as other:
        other.execute("select pg_terminate_backend(%s, 10000)", (first,))
    assert backend(kept) != first


def test_an_unused_connection_is_closed(database_url: str) -> None:
    brief = KeptConnection(database_url, kept_seconds=0.05)
    first = backend(brief)
    with connect(database_url, autocommit=True) as other:
        wait_until(lambda: not is_connected(other, first), "the connection is closed")
    assert backend(brief) != first
    brief.close()


def is_connected(conn: Connection, pid: int) -> bool:
    row = conn.execute("select count(*) from pg_stat_activity where pid = %s", (pid,)).fetchone()
    return row == (1,)


def test_a_pooled_connection_prepares_no_statement(database_url: str) -> None:
    pooled = KeptConnection(database_url, kept_seconds=3600.0, is_pooled=True)
    for _ in range(8):  # psycopg prepares what it sent five times
        with pooled.use() as conn:
            found = conn.execute("select count(*) from pg_prepared_statements").fetchone()
    pooled.close()
    assert found == (0,)
