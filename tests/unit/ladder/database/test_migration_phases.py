"""The rules for migrations, which our migrations and function files keep."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ladder.database import migrate
from ladder.database.migrate import Phase, phase_of, phase_violations

CHECKOUT = Path(__file__).resolve().parents[4]
BEFORE, FILL, AFTER = "0002_before_x.sql", "0002_fill_x.sql", "0002_after_x.sql"
OF_THE_PREVIOUS_VERSION = {"lease_heartbeat", "lease_tier"}
"""Functions that only the previous version calls. The next version drops them."""


def test_every_migration_follows_the_rules_of_its_phase() -> None:
    assert [
        fault for name, text in migrate.migration_files() for fault in phase_violations(name, text)
    ] == []


@pytest.mark.parametrize(
    ("statement", "remedy"),
    [
        ("drop table teams", "move it to"),
        ("alter table teams drop column name", "move it to"),
        ("alter table teams drop name", "move it to"),
        ("alter table teams add x text, drop column if exists name", "move it to"),
        ("alter table teams alter column name drop default", "move it to"),
        ("drop type mood", "move it to"),
        ("drop function greet(text)", "move it to"),
        ("drop trigger seats_written on seats", "move it to"),
        ("delete from teams", "move it to"),
        ("truncate teams", "move it to"),
        ("revoke execute on function greet(text) from peck_worker", "move it to"),
        ("do $$ begin drop table teams; end $$", "move it to"),
        ("alter table teams alter column name type citext", "add a new column"),
        ("alter table teams alter name set data type citext", "add a new column"),
        ("alter table teams rename column name to title", "add a new column"),
        ("alter table teams rename to squads", "add a new column"),
        ("alter table teams alter column name set not null", "give a default"),
        ("alter table teams add column motto text not null", "give a default"),
        ("alter table teams add motto numeric(3, 1) not null", "give a default"),
    ],
)
def test_a_before_migration_must_not_break_the_previous_version(
    statement: str, remedy: str
) -> None:
    text = f"-- A comment; with a semicolon.\nselect 'drop table x';\n\n{statement};\n"
    [fault] = phase_violations(BEFORE, text)
    assert fault.startswith(f"{BEFORE}:4: ")
    assert remedy in fault
    assert phase_violations(AFTER, text) == []


@pytest.mark.parametrize(
    "statement",
    [
        "alter table teams add column motto text",
        "alter table teams add column motto text not null default ''",
        "alter table teams add column motto text not null default '', add column x numeric(3, 1)",
        "alter table teams add constraint motto_short check (motto is not null)",
        "alter table teams alter column motto set default '', alter column motto set not null",
        "alter table teams drop constraint motto_short",
        "alter table teams alter column motto drop not null",
        "create table mottos (team_id text not null references teams on delete cascade)",
        "create index teams_motto on teams (motto)",
        "drop index teams_motto",
        "grant execute on function greet(text) to peck_worker",
        "update teams set motto = 'truncate; rename; delete from'",
        "-- drop table teams\nselect 1 /* drop table teams; */",
    ],
)
def test_a_before_migration_may_add_objects(statement: str) -> None:
    assert phase_violations(BEFORE, statement) == []


@pytest.mark.parametrize(
    "statement",
    [
        "alter table matches disable trigger user",
        "create index matches_cause on matches (void_cause)",
        "lock table matches",
        "delete from matches",
        "do $$ begin lock table matches; end $$",
    ],
)
def test_a_filling_migration_must_not_stop_matches(statement: str) -> None:
    text = f"set local peck.filling = 'motto';\nupdate teams set motto = 'x';\n{statement};\n"
    fault, *_ = phase_violations(FILL, text)
    assert fault.startswith(f"{FILL}:3: ")
    assert "until all rows are filled" in fault


@pytest.mark.parametrize("name", [BEFORE, AFTER])
@pytest.mark.parametrize(
    "statement",
    [
        "create function f() returns integer language sql as $$ select 1 $$",
        "create or replace procedure p() language sql as $$ select 1 $$",
        "create trigger t before update on teams for each row execute function f()",
    ],
)
def test_functions_and_triggers_in_migrations_are_refused(name: str, statement: str) -> None:
    [fault] = phase_violations(name, statement)
    assert "a .sql file of its domain" in fault


def test_the_file_name_gives_the_phase() -> None:
    names = ("0001_schema.sql", BEFORE, FILL, AFTER)
    assert [phase_of(name) for name in names] == [Phase.BEFORE, *Phase]


@pytest.mark.parametrize("name", ["0002_x.sql", "2_before_x.sql", "0002_during_x.sql"])
def test_a_file_name_without_a_phase_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: name the file NNNN_before"):
        phase_of(name)


def test_every_function_has_one_copy() -> None:
    texts = [re.sub(r"--[^\n]*", "", text) for _, text in migrate.function_files()]
    heads = [
        " ".join(head.split())
        for text in texts
        for head in re.findall(r"(?i)\bcreate (?:or replace )?function (\w+\([^)]*\))", text)
    ]
    defined = [name for text in texts for name in migrate.FUNCTION_DEFINITION.findall(text)]
    assert len(heads) == len(defined), "begin a line with `create or replace function`"
    assert len(heads) == len(set(heads))


def test_every_function_has_a_caller() -> None:
    texts = [text for _, text in migrate.function_files()]
    no_call = re.compile(r"--[^\n]*|^(?:revoke|grant) [^;]*;|create or replace function \w+", re.M)
    called = "".join(no_call.sub("", text) for text in texts)
    for folder in ("ladder", "workers", "services"):
        called += "".join(file.read_text() for file in (CHECKOUT / folder).rglob("*.py"))
    defined = {name for text in texts for name in migrate.FUNCTION_DEFINITION.findall(text)}
    uncalled = {name for name in defined if not re.search(rf"\b{name}\(", called)}
    assert uncalled == OF_THE_PREVIOUS_VERSION
