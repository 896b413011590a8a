"""Migrations run once in two phases; functions update when changed; partitions are monthly."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from ladder.database import db, migrate
from ladder.database.migrate import MigrationResult
from tests.integration.ladder.contest import make_contest
from tests.waiting import wait_until

ADD = ("9002_before_add_motto.sql", "alter table teams add column motto text not null default '';")
DROP = ("9002_after_drop_turn.sql", "alter table matches drop column turn;")
OLD_GREETING = """
create or replace function greet(p_name text) returns text language sql as $$ select p_name $$;
"""
NEW_GREETING = """
create or replace function greet(p_name text, p_times integer) returns text language sql as
$$ select repeat(p_name, p_times) $$;
"""
DROP_GREETING = ("9002_after_drop_greet.sql", "drop function if exists greet(text);")


@dataclass
class Version:
    """The SQL files of a version: ours and some more."""

    patch: pytest.MonkeyPatch

    def is_now(self, *migrations: migrate.File, **functions: str) -> None:
        """Replace the files that ``migrate`` finds."""
        self.patch.setattr(migrate, "migration_files", lambda: [*OURS, *migrations])
        more = [(f"functions/{name}.sql", text) for name, text in functions.items()]
        self.patch.setattr(migrate, "function_files", lambda: [*OUR_FUNCTIONS, *more])


OURS, OUR_FUNCTIONS = migrate.migration_files(), migrate.function_files()


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch) -> Version:
    return Version(monkeypatch)


def empty(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("drop schema public cascade")
        conn.execute("create schema public")


def ask(url: str, query: str) -> list[Any]:
    with psycopg.connect(url) as conn:
        return [row[0] for row in conn.execute(query.encode())]


def columns(url: str, table: str) -> list[str]:
    return ask(
        url,
        "select attname::text from pg_attribute"
        f" where attrelid = '{table}'::regclass and attnum > 0 and not attisdropped",
    )


def test_migrating_a_current_database_changes_nothing(database_url: str) -> None:
    assert migrate.migrate(database_url) == MigrationResult([], [])


def test_later_sessions_of_a_migrated_database_compile_no_queries(database_url: str) -> None:
    migrate.migrate(database_url)
    assert ask(database_url, "show jit") == ["off"]


def test_a_changed_migration_is_refused(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = [(name, text + "\n-- changed") for name, text in migrate.migration_files()]
    monkeypatch.setattr(migrate, "migration_files", lambda: changed)
    with pytest.raises(migrate.MigrationChanged, match=r"^schema.sql was applied with other"):
        migrate.migrate(database_url)


def test_simultaneous_migrations_apply_each_file_once(database_url: str) -> None:
    empty(database_url)
    done: list[MigrationResult] = []
    threads = [
        threading.Thread(target=lambda: done.append(migrate.migrate(database_url)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    everything = len(migrate.migration_files()) + len(migrate.function_files())
    assert sorted(len(each.applied) for each in done) == [0, 0, everything]


def test_an_after_file_waits_for_the_end_of_the_roll_out(
    database_url: str, version: Version
) -> None:
    version.is_now(ADD, DROP)
    assert migrate.migrate(database_url) == MigrationResult([ADD[0]], [DROP[0]])
    assert "motto" in columns(database_url, "teams")
    assert "turn" in columns(database_url, "matches")
    assert migrate.migrate(database_url, after=True) == MigrationResult([DROP[0]], [])
    assert "turn" not in columns(database_url, "matches")


def test_readers_go_on_while_a_migration_waits_for_a_table(
    database_url: str, version: Version
) -> None:
    version.is_now(ADD)
    done: list[MigrationResult] = []
    migrating = threading.Thread(target=lambda: done.append(migrate.migrate(database_url)))
    waiting = (
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        " and datname = current_database() and query like 'alter table teams%'"
    )
    with psycopg.connect(database_url) as holder, psycopg.connect(database_url) as reader:
        holder.execute("select count(*) from teams")
        migrating.start()
        wait_until(lambda: ask(database_url, waiting) == [1], "the migration waits for the table")
        reader.execute("select count(*) from teams")
        reader.commit()
        assert migrating.is_alive(), "the migration gave up"
        holder.commit()
        migrating.join(60)
    assert [result.applied for result in done] == [[ADD[0]]]


def test_a_new_database_gets_the_files_of_both_phases(database_url: str, version: Version) -> None:
    empty(database_url)
    version.is_now(ADD, DROP)
    done = migrate.migrate(database_url)
    assert {ADD[0], DROP[0]} < set(done.applied)
    assert done.waiting == []


def test_before_files_run_first_within_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["0010_after_a.sql", "0002_before_b.sql", "0010_before_z.sql"]
    monkeypatch.setattr(migrate, "_sql_files", lambda _: [(name, "") for name in names])
    assert [name for name, _ in migrate.migration_files()] == [
        "schema.sql",
        "0002_before_b.sql",
        "0010_before_z.sql",
        "0010_after_a.sql",
    ]


@pytest.mark.parametrize("name", ["0002_x.sql", "2_before_x.sql", "0002_during_x.sql"])
def test_a_file_name_without_a_phase_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(migrate, "_sql_files", lambda _: [(name, "")])
    with pytest.raises(ValueError, match=f"{name}: name the file NNNN_before"):
        migrate.migration_files()


def test_a_changed_file_of_functions_runs_again(database_url: str, version: Version) -> None:
    version.is_now(greeting=OLD_GREETING)
    assert migrate.migrate(database_url) == MigrationResult(["functions/greeting.sql"], [])
    version.is_now(greeting=OLD_GREETING.replace("select p_name", "select 'dear ' || p_name"))
    assert migrate.migrate(database_url) == MigrationResult(["functions/greeting.sql"], [])
    assert ask(database_url, "select greet('goose')") == ["dear goose"]
    assert migrate.migrate(database_url) == MigrationResult([], [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            OLD_GREETING.replace("returns text", "returns setof text"),
            r"functions/greeting.sql: greet\(text\): cannot change return type",
        ),
        (
            OLD_GREETING.replace("p_name", "p_whom"),
            r"functions/greeting.sql: greet\(text\): cannot change name of input parameter",
        ),
    ],
    ids=["result", "names"],
)
def test_a_changed_function_signature_is_refused(
    database_url: str, version: Version, text: str, said: str
) -> None:
    version.is_now(greeting=OLD_GREETING)
    migrate.migrate(database_url)
    version.is_now(greeting=text)
    with pytest.raises(migrate.FunctionChanged, match=said):
        migrate.migrate(database_url)
    forms = "select oid::regprocedure::text from pg_proc where proname = 'greet'"
    assert ask(database_url, forms) == ["greet(text)"]
    assert ask(database_url, "select greet('goose')") == ["goose"]


def test_an_old_function_stays_until_a_migration_drops_it(
    database_url: str, version: Version
) -> None:
    version.is_now(greeting=OLD_GREETING)
    migrate.migrate(database_url)
    version.is_now(DROP_GREETING, greeting=NEW_GREETING)
    assert migrate.migrate(database_url).waiting == [DROP_GREETING[0]]
    assert ask(database_url, "select greet('goose')") == ["goose"]
    migrate.migrate(database_url, after=True)
    forms = "select oid::regprocedure::text from pg_proc where proname = 'greet'"
    assert ask(database_url, forms) == ["greet(text,integer)"]


def test_a_database_of_a_newer_version_is_left_as_it_is(
    database_url: str, version: Version
) -> None:
    version.is_now(ADD, greeting=OLD_GREETING)
    migrate.migrate(database_url)
    version.is_now()
    assert migrate.migrate(database_url) == MigrationResult([], [])
    assert ask(database_url, "select greet('goose')") == ["goose"]


def test_a_database_of_an_earlier_version_is_refused_untouched(database_url: str) -> None:
    empty(database_url)
    earlier = ["0001_schema.sql", "0002_before_accounts.sql"]
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(
            "create table migrations (name text primary key, checksum text not null,"
            " applied_at timestamptz not null default now())"
        )
        conn.execute(
            "insert into migrations (name, checksum) select unnest(%s::text[]), 'x'", (earlier,)
        )
    with pytest.raises(migrate.EarlierDatabase, match=r"it names 0001_schema.sql.*pg_dump"):
        migrate.migrate(database_url, after=True)
    assert ask(database_url, "select name from migrations order by name") == earlier
    tables = "select relname::text from pg_class where relnamespace = 'public'::regnamespace"
    assert sorted(ask(database_url, tables)) == ["migrations", "migrations_pkey"]


def test_only_granted_functions_are_open_to_others(database_url: str) -> None:
    """The catalogue lists the rights of the public, workers, machines and notifier roles."""
    granted = ask(
        database_url,
        "select distinct p.proname::text from pg_proc p, aclexplode(p.proacl) a"
        " where p.pronamespace = 'public'::regnamespace and a.grantee <> p.proowner"
        " order by 1",
    )
    assert granted == [
        "lease_alive",
        "lease_claim",
        "lease_claim_next",
        "lease_fail",
        "lease_finish",
        "lease_own_queue",
        "lease_register",
        "lease_renew",
        "lease_waiting",
        "notices_claim",
        "notices_finish",
        "remote_unreachable",
    ]
    unset = "select proname from pg_proc where pronamespace = 'public'::regnamespace"
    assert ask(database_url, unset + " and proacl is null") == [], "everybody may execute these"


def test_only_the_owner_may_make_temporary_tables(database_url: str) -> None:
    migrate.migrate(database_url)
    with db.connect(database_url) as conn:
        row = conn.execute(
            "select has_database_privilege('peck_worker', current_database(), 'temporary')"
        ).fetchone()
    assert row == (False,)


def test_new_rows_go_to_the_partition_of_the_month(database_url: str) -> None:
    with db.connect(database_url, autocommit=True) as conn:
        contest = make_contest(conn)
        contest.play(contest.rated(*(contest.active() for _ in range(4))), [1, 2, 3, 4])
        for table in ("matches", "seats", "attempts", "ratings"):
            left = conn.execute(f"select count(*) from {table}_default").fetchone()
            assert left == (0,)
        tables = conn.execute("select distinct tableoid::regclass::text from matches").fetchall()
        assert len(tables) == 1


def test_partitions_are_made_ahead_and_once(database_url: str) -> None:
    with db.connect(database_url, autocommit=True) as conn:
        made = migrate.ensure_partitions(conn, migrate.MONTHS_AHEAD + 2)
        assert len(made) == 2 * len(migrate.PARTITIONED)
        assert migrate.ensure_partitions(conn, migrate.MONTHS_AHEAD + 2) == []


def test_the_workers_password_is_stored_as_a_hash(database_url: str, worker_role: None) -> None:
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
