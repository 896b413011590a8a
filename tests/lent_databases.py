"""Databases that tests use one after another. After each test the template's rows are put back.

That takes a fifth of the processor time of a new copy. A database whose tables, functions or
triggers a test changed is dropped, and so is one to which this process lost its connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql

from tests.servers import cloned

CATALOGS: Final = {
    "pg_class": "oid",
    "pg_attribute": "attrelid",
    "pg_attrdef": "adrelid",
    "pg_constraint": "oid",
    "pg_index": "indexrelid",
    "pg_proc": "oid",
    "pg_rewrite": "ev_class",
    "pg_trigger": "oid",
}
"""System tables that change with the schema, and the column that tells our objects from others."""
FIRST_OWN: Final = 16384
SCHEMA: Final = " union all ".join(
    f"select sum(hashtextextended(concat(ctid, xmin), 0)) from {name} where {key} >= {FIRST_OWN}"
    for name, key in CATALOGS.items()
)
END_OTHERS: Final = """
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'"""


class LentDatabase:
    """A copy of a template, with a connection and what it held at first."""

    def __init__(self, server_url: str, template: str) -> None:
        self.stack = ExitStack()
        self.url = self.stack.enter_context(cloned(server_url, template))
        self.conn = self.stack.enter_context(psycopg.connect(self.url, autocommit=True))
        self.conn.execute("set max_parallel_workers_per_gather = 0")
        self.columns: dict[str, sql.Composable] = {}
        """The columns of each table that are no expressions of others."""
        for table, names in self.conn.execute(
            "select c.relname, array_agg(a.attname order by a.attnum) from pg_class c"
            " join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped"
            "  and a.attgenerated = ''"
            " where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace group by c.relname"
        ):
            self.columns[table] = sql.SQL(", ").join(map(sql.Identifier, names))
        self.marks_query = sql.SQL(" union all ").join(
            sql.SQL(
                "select {name}, sum(hashtextextended(concat(ctid, xmin), 0)) from only {table}"
            ).format(name=sql.Literal(table), table=sql.Identifier(table))
            for table in self.columns
        )
        self.schema = self.conn.execute(SCHEMA).fetchall()
        self.sequences = self._read_sequences()
        self.marks = self._read_marks()
        self.rows = {
            table: self._copy_out(table) for table, mark in self.marks.items() if mark is not None
        }

    def _read_marks(self) -> dict[str, Any]:
        """A number for each table that changes with its rows; None if it is empty."""
        return dict(self.conn.execute(self.marks_query, prepare=True).fetchall())

    def _read_sequences(self) -> list[tuple[str, int | None]]:
        return self.conn.execute(
            "select sequencename::text, last_value from pg_sequences order by 1"
        ).fetchall()

    def _copy_out(self, table: str) -> bytes:
        command = sql.SQL("copy {} ({}) to stdout (format binary)")
        with self.conn.cursor().copy(
            command.format(sql.Identifier(table), self.columns[table])
        ) as copy:
            return b"".join(copy)

    def restore(self) -> bool:
        """Put the rows of the template back; returns whether that was possible."""
        try:
            while self.conn.execute(END_OTHERS).rowcount:
                self.conn.execute("select pg_sleep(0.002)")
            if self.conn.execute(SCHEMA, prepare=True).fetchall() != self.schema:
                return False
            found = self._read_marks()
            changed = [table for table, mark in found.items() if mark != self.marks[table]]
            if changed:
                self._put_back(changed)
                self.marks = self._read_marks()
            if self._read_sequences() != self.sequences:
                self._set_sequences()
            return True
        except psycopg.Error:  # the connection is lost, or our role may not leave out triggers
            return False

    def _put_back(self, tables: list[str]) -> None:
        with self.conn.transaction():
            self.conn.execute("set local session_replication_role = replica")  # no triggers
            for table in tables:
                name = sql.Identifier(table)
                self.conn.execute(sql.SQL("delete from only {}").format(name))
                if table in self.rows:
                    command = sql.SQL("copy {} ({}) from stdin (format binary)")
                    with self.conn.cursor().copy(command.format(name, self.columns[table])) as copy:
                        copy.write(self.rows[table])

    def _set_sequences(self) -> None:
        for sequence, last in self.sequences:
            self.conn.execute(
                "select setval(%s::regclass, coalesce(%s, 1), %s)",
                (sequence, last, last is not None),
            )

    def close(self) -> None:
        """Drop the database."""
        self.stack.close()


class Lender:
    """The databases of one process: one of each template, made when first lent."""

    def __init__(self, server_url: str) -> None:
        self.server_url = server_url
        self.kept: dict[str, LentDatabase] = {}

    @contextmanager
    def lent(self, template: str) -> Iterator[str]:
        """The address of a database with the rows of the template."""
        database = self.kept.pop(template, None) or LentDatabase(self.server_url, template)
        try:
            yield database.url
        finally:
            if template not in self.kept and database.restore():
                self.kept[template] = database
            else:
                database.close()

    def close(self) -> None:
        """Drop all databases."""
        while self.kept:
            self.kept.popitem()[1].close()
