"""Searches names of leagues, agents and teams that a viewer may see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Final

from psycopg.rows import class_row
from pydantic import Field

from ladder.database.db import Connection
from ladder.errors import Invalid
from ladder.field_types import RECORD
from ladder.ids import TeamId
from ladder.people import visibility
from ladder.people.records import Viewer
from ladder.slugs import normal_text

SHORTEST: Final = 2
LONGEST: Final = 100


class FoundKind(StrEnum):
    LEAGUE = "league"
    AGENT = "agent"
    TEAM = "team"
    PAGE = "page"
    """A page of the documentation."""


@dataclass(frozen=True, slots=True)
class Found:
    """A league, an agent or a team whose name contains the text."""

    __pydantic_config__ = RECORD
    kind: FoundKind
    id: str
    slug: str
    name: str
    about: str
    """Game of a league, team of an agent; empty for a team."""
    league: Annotated[str, Field(exclude=True)] = ""
    """Title of the league in which an agent played last; empty for others."""


@dataclass(frozen=True, slots=True)
class TeamSummary:
    """A team with its numbers in leagues that the viewer may see."""

    id: TeamId
    slug: str
    name: str
    agents: int
    leagues: int


def search_names(conn: Connection, viewer: Viewer, text: str, limit: int = 20) -> list[Found]:
    """Up to ``limit`` of each kind; names that begin with the text come first. Raises Invalid."""
    wanted = " ".join(normal_text(text).split())
    if not SHORTEST <= len(wanted) <= LONGEST or not wanted.isprintable():
        raise Invalid("q", f"type {SHORTEST} to {LONGEST} characters of a name")
    pattern = wanted.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    leagues, league_values = visibility.visible_leagues(viewer)
    agents, agent_values = visibility.visible_agents(viewer)
    named = (f"%{pattern}%", f"%{pattern}%")
    parts: tuple[tuple[str, tuple[Any, ...]], ...] = (
        (
            f"""
            select 'league' as kind, l.id, l.slug, l.title as name, l.game as about from leagues l
            where (l.title ilike %s or l.slug ilike %s) and {leagues}
            """,
            (*named, *league_values),
        ),
        (
            f"""
            select 'agent' as kind, a.id, a.slug, a.name, t.name as about, coalesce((select
              l.title from entries e join seasons s on s.id = e.season_id join leagues l
              on l.id = s.league_id where e.agent_id = a.id and {leagues}
              order by e.id desc limit 1), '') as league from agents a
            join teams t on t.id = a.team_id
            where (a.name ilike %s or a.slug ilike %s) and {agents}
            """,
            (*league_values, *named, *agent_values),
        ),
        (
            f"""
            select 'team' as kind, t.id, t.slug, t.name, '' as about from teams t
            where (t.name ilike %s or t.slug ilike %s)
            and exists (select 1 from agents a where a.team_id = t.id and {agents})
            """,
            (*named, *agent_values),
        ),
    )
    found: list[Found] = []
    for query, values in parts:
        with conn.cursor(row_factory=class_row(Found)) as cur:
            rows = cur.execute(
                f"""
                select * from ({query}) f order by f.name not ilike %s, length(f.name), f.id
                limit %s
                """,
                (*values, f"{pattern}%", limit),
            )
            found += [replace(row, kind=FoundKind(row.kind)) for row in rows]
    return found


def list_visible_teams(
    conn: Connection, viewer: Viewer, after: str = "", limit: int = 50
) -> list[TeamSummary]:
    """Teams with an agent that the viewer may see, by slug, after this slug."""
    seen, values = visibility.visible_agents(viewer)
    with conn.cursor(row_factory=class_row(TeamSummary)) as cur:
        return cur.execute(
            f"""
            select t.id, t.slug, t.name, count(distinct a.id)::int as agents,
            (select count(distinct s.league_id)::int from entries e
              join seasons s on s.id = e.season_id join leagues l on l.id = s.league_id
             where e.team_id = t.id and {visibility.ON_BOARD}
              and (%s or l.visibility = 'public' or l.id = any (%s))) as leagues
            from teams t join agents a on a.team_id = t.id where t.slug > %s and {seen}
            group by t.id order by t.slug limit %s
            """,
            (viewer.is_admin, list(viewer.roles), after, *values, limit),
        ).fetchall()
