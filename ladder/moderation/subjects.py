"""Finds the agent or the team that a host names on the moderation page."""

from __future__ import annotations

from typing import Final

from ladder.database.db import Connection
from ladder.errors import Invalid
from ladder.ids import SeasonId
from ladder.slugs import normal_text

PREFIXES: Final = ("ent_", "age_", "tea_")
SHOWN: Final = 5
"""Most ids listed if a name is not unique."""


def find_subject(conn: Connection, season_id: SeasonId, text: str, field: str = "subject") -> str:
    """The id of the agent or team in this season with this exact name or slug, in any case.

    An id and an empty text stay as they are. Raises Invalid for ``field`` if there is none, or
    several.
    """
    return _find_id(conn, season_id, text, field, teams=True)


def find_agent_id(conn: Connection, season_id: SeasonId, text: str, field: str) -> str:
    """As ``find_subject``, for agents alone."""
    return _find_id(conn, season_id, text, field, teams=False)


def _find_id(conn: Connection, season_id: SeasonId, text: str, field: str, *, teams: bool) -> str:
    if not text or text.startswith(PREFIXES):
        return text
    rows = conn.execute(
        "select a.id from agents a where lower(%(text)s) in (lower(a.name), a.slug)"
        "   and exists (select 1 from entries e"
        "     where e.season_id = %(season)s and e.agent_id = a.id)"
        " union select t.id from teams t where %(teams)s"
        "   and lower(%(text)s) in (lower(t.name), t.slug)"
        "   and exists (select 1 from entries e"
        "     where e.season_id = %(season)s and e.team_id = t.id) order by 1",
        {"text": normal_text(text).replace("\0", ""), "season": season_id, "teams": teams},
    ).fetchall()
    found = [str(row[0]) for row in rows]
    if len(found) == 1:
        return found[0]
    kinds = "agent or team" if teams else "agent"
    if not found:
        raise Invalid(field, f"give an exact name or an id: the season has no {kinds} {text!r}.")
    ids = ", ".join(found[:SHOWN])
    raise Invalid(field, f"give one of these ids: several have the name {text!r}: {ids}")
