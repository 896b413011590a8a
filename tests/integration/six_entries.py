"""A season with six active entries, of which each test has its own copy, and its workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.matches import workers
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.contest_copies import KeptContest, copied, kept


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def six(postgres_url: str, migrated_template: str) -> Iterator[KeptContest]:
    """A season with six active entries."""

    def make(conn: Connection) -> Contest:
        made = make_contest(conn)
        for _ in range(6):
            made.active()
        return made

    with kept(postgres_url, migrated_template, make) as found:
        yield found


@pytest.fixture
def contest(postgres_url: str, six: KeptContest) -> Iterator[Contest]:
    with copied(postgres_url, six) as found:
        found.conn.execute("update seasons set opens_at = now()")
        workers.record_heartbeat(found.conn, "w1")
        yield found


def one(conn: Connection, query: str) -> object:
    row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def silence_workers(conn: Connection) -> None:
    conn.execute("update workers set live_until = now()")
