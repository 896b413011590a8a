"""Finds an agent that a person named: by id, by slug, by name, or by team and agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
PLAYS: Final = """
    exists (
      select 1 from entries n
      where n.agent_id = a.id and n.season_id = %s and n.state = 'active'
    )
    """
PAIRS: Final = """
    select e.agent_id, o.agent_id
    from entries e
    join entries o on o.season_id = e.season_id and o.agent_id <> e.agent_id
    join seasons s on s.id = e.season_id
    join leagues l on l.id = s.league_id
    where e.agent_id = any (%s) and o.agent_id = any (%s)
    """
MOST_GAMES_FIRST: Final = "order by least(e.games, o.games) desc, e.id desc, o.id desc limit 1"


def find_visible_agent(conn: Connection, viewer: Viewer, text: str, field: str = "agent") -> Agent:
    """The one visible agent with this id, slug or name; ``team/agent`` names the team too.

    An agent of the viewer's own teams precedes agents of others. Raises Invalid for the field if
    several agents have the name. Raises NotFound.
    """
    namesakes = find_namesakes(conn, viewer, text)
    own = [agent for agent in namesakes if agent.team_id in viewer.team_ids]
    if len(own) == 1 or len(namesakes) == 1:
        return (own or namesakes)[0]
    if not namesakes:
        missing = NotFound.of("agent")
        missing.field = field
        raise missing
    teams = ", ".join(sorted({agent.team_name for agent in namesakes})[:5])
    raise Invalid(field, f"write TEAM/{namesakes[0].slug}: several teams have this agent ({teams})")


def find_season_agent(
    conn: Connection, viewer: Viewer, season_id: SeasonId, text: str, field: str
) -> Agent:
    """The visible agent with this id, or the one with this name that plays in the season;
    ``team/agent`` names the team too. Raises Invalid for the field, NotFound.
    """
    if ids.is_id(text, "age"):
        return find_visible_agent(conn, viewer, text, field)
    condition, values = visibility.visible_agents(viewer)
    names = agent_names.select_names(
        conn,
        f"where {PLAYS} and {condition} order by a.id",
        (season_id, *values),
    )
    missing = "write the name of an agent that plays in this season"
    chosen = agent_names.choose_agent(names, text, field, missing)
    return agents.get_agent(conn, chosen)


def find_namesakes(conn: Connection, viewer: Viewer, text: str) -> list[Agent]:
    """The visible agents with this id, slug or name; ``team/agent`` names the team too."""
    condition, values = visibility.visible_agents(viewer)
    team, slash, name = normal_text(text).rpartition("/")
    if ids.is_id(text, "age"):
        named, names = "a.id = %s", [text]
    else:
        named, names = "(a.slug = lower(%s) or lower(a.name) = lower(%s))", [name, name]
        if slash:
            named += " and (t.slug = lower(%s) or lower(t.name) = lower(%s))"
            names += [team, team]
    return agents.select_agents(
        conn, f"where {named} and {condition} order by a.id limit {NAMED}", (*names, *values)
    )


def find_similar_agents(conn: Connection, viewer: Viewer, text: str, limit: int) -> list[Agent]:
    """The newest visible agents whose name or slug contains the text."""
    condition, values = visibility.visible_agents(viewer)
    part = normal_text(text).replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return agents.select_agents(
        conn,
        f"where (a.name ilike %s or a.slug ilike %s) and {condition} order by a.id desc limit %s",
        (f"%{part}%", f"%{part}%", *values, limit),
    )


def likeliest_pair(
    conn: Connection, viewer: Viewer, ones: Sequence[Agent], others: Sequence[Agent]
) -> tuple[Agent, Agent] | None:
    """The pair of different agents that played most in one season that the viewer may see."""
    condition, values = visibility.visible_leagues(viewer)
    row = conn.execute(
        f"{PAIRS} and {condition} {MOST_GAMES_FIRST}",
        ([agent.id for agent in ones], [agent.id for agent in others], *values),
    ).fetchone()
    if row is None:
        return None
    by_id = {agent.id: agent for agent in (*ones, *others)}
    return by_id[row[0]], by_id[row[1]]
