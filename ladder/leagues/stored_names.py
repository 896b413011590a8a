"""Gives names that an earlier version stored their present form, and their present keys.

Each row has a transaction of its own, which begins again if it gets no lock. So no request waits
long, and after an interruption another pass does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain, count
from typing import Final

from psycopg import errors, sql

from ladder.database.db import Connection
from ladder.database.migrate import try_while_busy
from ladder.leagues.invitations import team_digest
from ladder.people.user_names import look_alike_key
from ladder.slugs import normal_cell, normal_text
from ladder.telemetry import log_event

PLAIN: Final[tuple[tuple[str, str, Callable[[str], str]], ...]] = (
    ("agents", "name", normal_text),
    ("leagues", "title", normal_text),
)
"""Tables with names that have no key: table, column and the form of its values."""


def update_stored_names(conn: Connection) -> None:
    """Updates all stored names that others type or search; you may repeat it.

    Needs a connection with autocommit and LOCK_WAIT. Raises TablesBusy.
    """
    for table in ("users", "teams"):
        _update_keyed_names(conn, table)
    for table, column, form in PLAIN:
        _update_plain_names(conn, table, column, form)
    _update_roster(conn)


def _update_keyed_names(conn: Connection, table: str) -> None:
    query = sql.SQL("select id, name, look_alike from {} where erased_at is null order by id")
    for row in conn.execute(query.format(sql.Identifier(table))).fetchall():
        try_while_busy(partial(_update_keyed_name, conn, table, *row))


def _update_keyed_name(
    conn: Connection, table: str, row_id: str, stored: str, stored_key: str | None
) -> None:
    """If another row has the key, the row keeps its own. If another one has the name, the row's
    name gets a number."""
    update = sql.SQL("update {} set name = %s, look_alike = %s where id = %s and name = %s")
    name = normal_text(stored)
    numbered = (f"{name} {number}" for number in count(2))
    choices = chain(
        [(name, look_alike_key(name)), (name, stored_key)],
        ((each, look_alike_key(each)) for each in numbered),
    )
    for chosen, key in choices:
        if (chosen, key) == (stored, stored_key):
            return
        try:
            conn.execute(update.format(sql.Identifier(table)), (chosen, key, row_id, stored))
        except errors.UniqueViolation:
            continue
        if chosen != name:
            log_event("name_numbered", level="warning", id=row_id)
        return


def _update_plain_names(
    conn: Connection, table: str, column: str, form: Callable[[str], str]
) -> None:
    names = {"table": sql.Identifier(table), "column": sql.Identifier(column)}
    select = sql.SQL("select id, {column} from {table} order by id").format(**names)
    update = sql.SQL("update {table} set {column} = %s where id = %s and {column} = %s")
    for row_id, stored in conn.execute(select).fetchall():
        if form(stored) != stored:
            values = (form(stored), row_id, stored)
            try_while_busy(partial(conn.execute, update.format(**names), values))


def _update_roster(conn: Connection) -> None:
    rows = conn.execute(
        "select r.league_id, r.external_id, r.name, r.team, t.name_digest, t.team_id"
        " from roster r left join roster_teams t on t.league_id = r.league_id"
        " and t.name_digest = sha256(convert_to(lower(r.team), 'UTF8'))"
        " order by r.league_id, r.external_id"
    ).fetchall()
    for league_id, *stored, old_digest, team_id in rows:
        digest = team_digest(stored[2])
        if old_digest not in (None, digest) or stored != [normal_cell(each) for each in stored]:
            known_team = None if team_id is None else (digest, team_id)
            try_while_busy(partial(_update_line, conn, league_id, stored, known_team))


def _update_line(
    conn: Connection, league_id: str, stored: list[str], known_team: tuple[bytes, str] | None
) -> None:
    """Updates external id, name and team of a roster line. Its team is known by the digest of an
    earlier version, which processes of that version still read."""
    present = [normal_cell(each) for each in stored]
    with conn.transaction():
        if known_team is not None:
            conn.execute(
                "insert into roster_teams (league_id, name_digest, team_id) values (%s, %s, %s)"
                " on conflict do nothing",
                (league_id, *known_team),
            )
        for external_id in (present[0], stored[0]):
            with suppress(errors.UniqueViolation), conn.transaction():  # another line has the id
                conn.execute(
                    "update roster set external_id = %s, name = %s, team = %s where league_id = %s"
                    " and external_id = %s and name = %s and team = %s",
                    (external_id, *present[1:], league_id, *stored),
                )
                break
