"""Migrations run once, and partitions take the rows of their month."""

from __future__ import annotations

import threading

import psycopg
import pytest

from ladder.store import db, migrate
from tests.integration.store.contest import raise_contest


def test_a_migrated_database_needs_nothing(database_url: str) -> None:
    assert db.migrate(database_url) == []


def test_a_changed_migration_is_refused(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = [(name, text + "\n-- changed") for name, text in migrate.files()]
    monkeypatch.setattr(migrate, "files", lambda: changed)
    with pytest.raises(migrate.MigrationChanged, match=r"0001_rows.sql was applied with other"):
        db.migrate(database_url)


def test_of_several_migrating_at_once_one_does_the_work(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("drop schema public cascade")
        conn.execute("create schema public")
    done: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: done.append(db.migrate(database_url))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(map(len, done)) == [0, 0, len(migrate.files())]


def test_rows_of_now_go_to_this_months_partition(database_url: str) -> None:
    with db.connect(database_url, autocommit=True) as conn:
        contest = raise_contest(conn)
        contest.play(contest.rated(*(contest.active() for _ in range(4))), [1, 2, 3, 4])
        for table in ("matches", "seats", "attempts", "ratings"):
            left = conn.execute(f"select count(*) from {table}_default").fetchone()
            assert left == (0,)
        tables = conn.execute("select distinct tableoid::regclass::text from matches").fetchall()
        assert len(tables) == 1


def test_partitions_are_made_ahead_and_once(database_url: str) -> None:
    with db.connect(database_url, autocommit=True) as conn:
        made = db.ensure_partitions(conn, migrate.MONTHS_AHEAD + 2)
        assert len(made) == 2 * len(migrate.PARTITIONED)
        assert db.ensure_partitions(conn, migrate.MONTHS_AHEAD + 2) == []


def test_the_workers_password_is_hashed_before_it_travels(
    database_url: str, worker_role: None
) -> None:
    with db.connect(database_url, autocommit=True) as conn:
        db.set_worker_login(conn, "geese fly south")
        row = conn.execute(
            "select rolpassword, rolcanlogin from pg_authid where rolname = 'peck_worker'"
        ).fetchone()
        assert row is not None
        assert row[0].startswith("SCRAM-SHA-256$")
        assert row[1] is True
        db.set_worker_login(conn, None)


def test_a_pool_hands_out_transactions(database_url: str) -> None:
    with db.pool(database_url, 2) as pool, pool.connection() as conn:
        assert conn.execute("select 1").fetchone() == (1,)
