"""The data functions return records and write rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest

from ladder.database.db import (
    Connection,
    exists,
    fetch,
    fetch_one,
    fetch_optional,
    insert,
    update,
)
from ladder.enums import LeagueRole
from ladder.errors import NotFound
from ladder.ids import UserId


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    role: LeagueRole | None
    roles: tuple[LeagueRole, ...] = ()


class Pair(NamedTuple):
    first: int
    second: str


def test_dataclass_takes_columns_by_name_with_enums_and_tuples(conn: Connection) -> None:
    members = fetch(
        conn,
        Member,
        "select array['host', 'viewer'] as roles, 'host' as role, %(name)s as name",
        {"name": "Ada"},
    )
    assert members == [Member("Ada", LeagueRole.HOST, (LeagueRole.HOST, LeagueRole.VIEWER))]
    assert members[0].role is LeagueRole.HOST


def test_null_of_an_optional_enum_is_none(conn: Connection) -> None:
    assert fetch_one(conn, Member, "select 'Ada' as name, null as role") == Member("Ada", None)


def test_type_takes_the_only_column(conn: Connection) -> None:
    assert fetch_one(conn, int, "select sum(n) from generate_series(1, 3) n") == 6
    assert fetch_one(conn, LeagueRole, "select 'host'") is LeagueRole.HOST
    assert fetch_one(conn, dict[str, int], "select '{\"a\": 1}'::jsonb") == {"a": 1}
    assert fetch(conn, UserId, "select 'usr_1' union all select 'usr_2'") == ["usr_1", "usr_2"]


def test_named_tuple_takes_columns_in_their_order(conn: Connection) -> None:
    assert fetch_one(conn, Pair, "select 1, 'b'") == Pair(1, "b")
    assert fetch_one(conn, tuple[int, str], "select 1, 'b'") == (1, "b")


def test_missing_row_is_none_or_the_error_of_the_caller(conn: Connection) -> None:
    query = "select 1 where %s"
    assert fetch_optional(conn, int, query, [False]) is None
    with pytest.raises(NotFound):
        fetch_one(conn, int, query, [False], NotFound.of("number"))
    with pytest.raises(LookupError):
        fetch_one(conn, int, query, [False])
    assert not exists(conn, query, [False])
    assert exists(conn, query, [True])


def test_insert_and_update_write_the_named_columns(conn: Connection) -> None:
    conn.execute('create temporary table "table" (id int, "order" text, note text)')
    insert(conn, "table", id=1, order="first")
    insert(conn, "table", id=2, order="second")
    assert update(conn, "table", {"id": 1}, order="last", note="new") == 1
    assert conn.execute('select * from "table" order by id').fetchall() == [
        (1, "last", "new"),
        (2, "second", None),
    ]
