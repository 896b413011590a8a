"""Every column that can hold a text has a rule in ladder/privacy/rules."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.privacy.rules import RULES

REMEDY = """\
ladder/privacy/rules does not say what these columns hold about a person. Add each to the Rule of
its table, or add a Rule for a new table:
- rows that belong to one person and may go with the account: `mine` and `deleted=True`
- a text that a person typed, in a row that stays: `mine` and `erased={column: new value}`
- a text of somebody else that may name the person: `named`
- an id, state, digest or text of our own: `impersonal`
- a hash or secret that no export may hold: `secret`
If the value is a mail address or an identity, name the column in `words` too. Give `about` and
`stays` a text: the page /privacy shows them. At last type the new value in
tests/integration/api/unusual_words.py, and run test_deleted_account.py beside it."""
WITHOUT_TEXT = (
    *("smallint", "integer", "bigint", "real", "double precision", "numeric", "boolean"),
    *("date", "interval", "timestamp with time zone", "timestamp without time zone"),
)
COLUMNS = (
    "select c.table_name, c.column_name from information_schema.columns c"
    " join pg_class p on p.oid = format('%%I.%%I', c.table_schema, c.table_name)::regclass"
    " where c.table_schema = 'public' and p.relkind in ('r', 'p') and not p.relispartition"
    " and c.data_type <> all (%s) order by 1, 2"
)


def columns_without_rule(conn: Connection) -> list[str]:
    """Columns of text, JSON, bytes, arrays and unknown types that no rule covers."""
    deleted = {rule.table for rule in RULES if rule.deleted}
    covered = {(rule.table, column) for rule in RULES for column in rule.covered}
    return [
        f"{table}.{column}"
        for table, column in conn.execute(COLUMNS, (list(WITHOUT_TEXT),))
        if table not in deleted and (table, column) not in covered
    ]


def test_every_column_of_text_has_a_rule(conn: Connection) -> None:
    assert columns_without_rule(conn) == [], REMEDY


def test_a_new_column_and_a_new_table_need_a_rule(conn: Connection) -> None:
    conn.execute("alter table users add column nickname text, add column age integer")
    conn.execute("alter table seats add column remarks text[]")
    conn.execute("create table friends (id text, told jsonb, number integer)")
    assert columns_without_rule(conn) == [
        "friends.id",
        "friends.told",
        "seats.remarks",
        "users.nickname",
    ]


def test_every_rule_names_columns_that_exist(conn: Connection) -> None:
    known = {
        (table, column)
        for table, column in conn.execute(
            "select table_name, column_name from information_schema.columns"
            " where table_schema = 'public'"
        )
    }
    named = {(rule.table, column) for rule in RULES for column in {*rule.covered, *rule.words}}
    assert named - known == set()


def test_every_kind_of_data_about_people_is_described() -> None:
    for rule in RULES:
        assert bool(rule.about) == bool(rule.mine), rule.table
        assert bool(rule.about) == bool(rule.stays), rule.table
