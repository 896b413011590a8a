"""A lent database holds what its template holds, whatever the test before did."""

from __future__ import annotations

import psycopg
import pytest

from ladder.database import db
from ladder.database.db import Connection
from tests.integration.ladder.contest import make_contest
from tests.lent_databases import Lender


def contents(conn: Connection) -> dict[str, list[tuple[object, ...]]]:
    """The rows of some tables, and the next number of a rated match."""
    return {
        table: conn.execute(f"select * from {table} order by 1".encode()).fetchall()
        for table in ("users", "leagues", "entries", "matches", "migrations", "pg_sequences")
    }


def test_the_rows_of_the_template_are_put_back(lender: Lender, migrated_template: str) -> None:
    with lender.lent(migrated_template) as url, db.connect(url, autocommit=True) as conn:
        before = contents(conn)
        contest = make_contest(conn)
        for _ in range(contest.season.seats):
            contest.active()
        conn.execute("delete from migrations")
        assert contents(conn).keys() == before.keys()
        assert all(contents(conn)[table] != rows for table, rows in before.items())
    with lender.lent(migrated_template) as again, db.connect(again) as conn:
        assert again == url
        assert contents(conn) == before


@pytest.mark.parametrize(
    "change",
    [
        "alter table users add column nickname text",
        "alter table seats disable trigger seats_written",
        "create function told() returns int language sql as 'select 1'",
        "create index on users (created_at)",
    ],
)
def test_a_changed_schema_lives_in_no_other_test(
    lender: Lender, migrated_template: str, change: str
) -> None:
    with lender.lent(migrated_template) as url, db.connect(url) as conn:
        conn.execute(change.encode())
    with lender.lent(migrated_template) as again:
        assert again != url


def test_sessions_end_before_the_next_test(lender: Lender, migrated_template: str) -> None:
    with lender.lent(migrated_template) as url:
        left = db.connect(url)
        left.execute("update migrations set name = name || ' '")
    with lender.lent(migrated_template) as again, db.connect(again) as conn:
        assert again == url
        assert conn.execute("select from migrations where name like '% '").fetchall() == []
    with pytest.raises(psycopg.OperationalError):
        left.execute("select 1")
    left.close()
