"""Finds an agent that a person named: by id, by slug, by name, or by team and agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from psycopg.rows import class_row

from ladder import ids
from ladder.database.db import Connection
from ladder.entries import agent_names, agents
from ladder.entries.records import Agent
from ladder.errors import Invalid, NotFound
from ladder.ids import SeasonId
from ladder.people import visibility
from ladder.people.records import Viewer
from ladder.slugs import normal_text

NAMED: Final = 20
"""Most agents of one name that are compared."""


def find_visible_agent(conn: Connection, viewer: Viewer, text: str, field: str = "agent") -> Agent:
    """The one visible agent with this id, slug or name; ``team/agent`` names the team too.

    An agent of the viewer's own teams precedes agents of others. Raises Invalid for the field if
    several agents have the name. Raises NotFound.
    """
    found = find_namesakes(conn, viewer, text)
    own = [agent for agent in found if agent.team_id in viewer.team_ids]
    if len(own) == 1 or len(found) == 1:
        return (own or found)[0]
    if not found:
        missing = NotFound.of("agent")
        missing.field = field
        raise missing
    teams = ", ".join(sorted({agent.team_name for agent in found})[:5])
    raise Invalid(field, f"write TEAM/{found[0].slug}: several teams have this agent ({teams})")


def find_season_agent(
    conn: Connection, viewer: Viewer, season_id: SeasonId, text: str, field: str
) -> Agent:
    """The visible agent with this id, or the one with this name that plays in the season;
    ``team/agent`` names the team too. Raises Invalid for the field, NotFound.
    """
    if ids.is_id(text, "age"):
        return find_visible_agent(conn, viewer, text, field)
    seen, values = visibility.visible_agents(viewer)
    known = agent_names.select_names(
        conn,
        "where exists (select 1 from entries n where n.agent_id = a.id and n.season_id = %s"  # noqa: S608
        f" and n.state = 'active') and {seen} order by a.id",
        (season_id, *values),
    )
    missing = "write the name of an agent that plays in this season"
    chosen = agent_names.choose_agent(known, text, field, missing)
    return agents.get_agent(conn, chosen)


def find_namesakes(conn: Connection, viewer: Viewer, text: str) -> list[Agent]:
    """The visible agents with this id, slug or name; ``team/agent`` names the team too."""
    seen, values = visibility.visible_agents(viewer)
    team, slash, name = normal_text(text).rpartition("/")
    if ids.is_id(text, "age"):
        named, wanted = "a.id = %s", [text]
    else:
        named, wanted = "(a.slug = lower(%s) or lower(a.name) = lower(%s))", [name, name]
        if slash:
            named += " and (t.slug = lower(%s) or lower(t.name) = lower(%s))"
            wanted += [team, team]
    with conn.cursor(row_factory=class_row(Agent)) as cur:
        return cur.execute(
            f"{agents.AGENT} where {named} and {seen} order by a.id limit {NAMED}",
            (*wanted, *values),
        ).fetchall()


def find_similar_agents(conn: Connection, viewer: Viewer, text: str, limit: int) -> list[Agent]:
    """The newest visible agents whose name or slug contains the text."""
    seen, values = visibility.visible_agents(viewer)
    part = normal_text(text).replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    with conn.cursor(row_factory=class_row(Agent)) as cur:
        return cur.execute(
            f"{agents.AGENT} where (a.name ilike %s or a.slug ilike %s) and {seen}"
            " order by a.id desc limit %s",
            (f"%{part}%", f"%{part}%", *values, limit),
        ).fetchall()


def likeliest_pair(
    conn: Connection, viewer: Viewer, ones: Sequence[Agent], others: Sequence[Agent]
) -> tuple[Agent, Agent] | None:
    """The pair of different agents that played most in one season that the viewer may see."""
    seen, values = visibility.visible_leagues(viewer)
    row = conn.execute(
        "select e.agent_id, o.agent_id from entries e join entries o on o.season_id = e.season_id"  # noqa: S608
        " join seasons s on s.id = e.season_id join leagues l on l.id = s.league_id"
        f" where e.agent_id = any (%s) and o.agent_id = any (%s) and {seen}"
        " and e.agent_id <> o.agent_id"
        " order by least(e.games, o.games) desc, e.id desc, o.id desc limit 1",
        ([one.id for one in ones], [one.id for one in others], *values),
    ).fetchone()
    if row is None:
        return None
    by_id = {agent.id: agent for agent in (*ones, *others)}
    return by_id[row[0]], by_id[row[1]]
