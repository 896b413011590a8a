"""Applies the rules of erasing to the rows of a person, except seats."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

from psycopg import sql
from psycopg.types.json import Jsonb

from ladder.database.db import Connection, fetch
from ladder.enums import Json
from ladder.people import users
from ladder.privacy.rules import RULES, Rule
from ladder.slugs import slug_of

REPLACEMENT: Final = "[deleted]"
Scope = dict[str, Any]
"""The values of a rule's conditions."""


def names_of_person(conn: Connection, scope: Scope) -> list[str]:
    """All texts that name the person: names of account and teams, addresses, roster lines."""
    names: set[str] = set()
    for rule in RULES:
        for column in rule.words:
            query = sql.SQL("select {} from {} x where {}").format(
                sql.Identifier(column), sql.Identifier(rule.table), _text(rule.mine)
            )
            names |= set(filter(None, fetch(conn, str, query, scope)))
    names |= {slug for name in names if (slug := slug_of(name, users.TEAM_SLUG))}
    return sorted(names, key=len, reverse=True)


def apply_rules(conn: Connection, scope: Scope, names: list[str], *, large: bool = False) -> None:
    """Erases by the rules; ``large`` adds the tables that may be large, except seats."""
    conn.execute("select set_config('peck.erasing', 'on', true)")
    for rule in RULES:
        if rule.table == "seats" or (rule.is_large and not large):
            continue
        if rule.mine and rule.deleted:
            conn.execute(
                sql.SQL("delete from {} x where {}").format(
                    sql.Identifier(rule.table), _text(rule.mine)
                ),
                scope,
            )
        elif rule.mine and rule.erased:
            _overwrite(conn, rule, scope)
        for column in rule.named if names else ():
            _replace_names(conn, rule, column, scope, names)
    conn.execute("select set_config('peck.erasing', '', true)")


def _overwrite(conn: Connection, rule: Rule, scope: Scope) -> None:
    columns = [sql.Identifier(column) for column in rule.erased]
    values = [_text(value) for value in rule.erased.values()]
    conn.execute(
        sql.SQL("update {table} x set {new} where ({mine}) and ({differs})").format(
            table=sql.Identifier(rule.table),
            new=sql.SQL(", ").join(
                sql.SQL("{} = {}").format(*pair) for pair in zip(columns, values, strict=True)
            ),
            mine=_text(rule.mine),
            differs=sql.SQL(" or ").join(
                sql.SQL("x.{} is distinct from ({})").format(*pair)
                for pair in zip(columns, values, strict=True)
            ),
        ),
        scope,
    )


def _replace_names(
    conn: Connection, rule: Rule, column: str, scope: Scope, names: list[str]
) -> None:
    """Replaces the person's names in a column of text or JSON; a slug gets another value."""
    pattern = _names_pattern(names)
    texts = sorted({*names, *(json.dumps(name, ensure_ascii=False)[1:-1] for name in names)})
    table, field = sql.Identifier(rule.table), sql.Identifier(column)
    rows = conn.execute(
        sql.SQL(
            """select x.ctid, x.{field} from {table} x
            where ({where}) and exists (select 1 from unnest(%(texts)s::text[]) n
              where strpos(lower(x.{field}::text), lower(n)) > 0)
            for update of x"""
        ).format(field=field, table=table, where=_text(rule.named_where)),
        {**scope, "texts": texts},
    ).fetchall()
    for place, value in rows:
        cleaned = _clean(value, pattern)
        if cleaned != value:
            if column == "slug":
                cleaned = f"renamed-{secrets.token_hex(5)}"
            conn.execute(
                sql.SQL("update {} set {} = %s where ctid = %s").format(table, field),
                (cleaned if isinstance(cleaned, str) else Jsonb(cleaned), place),
            )


def _names_pattern(names: Iterable[str]) -> re.Pattern[str]:
    """A pattern of these names as whole words, the longest first."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)


def _clean(value: Json, pattern: re.Pattern[str]) -> Json:
    """The text or JSON with each name replaced; keys of objects stay."""
    if isinstance(value, str):
        return pattern.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_clean(item, pattern) for item in value]
    if isinstance(value, Mapping):
        return {key: _clean(item, pattern) for key, item in value.items()}
    return value


def _text(text: str) -> sql.SQL:
    """A condition of the rules, which are constants of the program."""
    return sql.SQL(text)
