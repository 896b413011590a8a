"""Chooses the agent that a person named among known ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, LiteralString

from psycopg.rows import class_row

from ladder.database.db import Connection
from ladder.errors import Invalid
from ladder.ids import AgentId
from ladder.slugs import is_named, name_key, normal_text

NAME: Final = """
    select a.id, a.slug, a.name, t.slug as team_slug, t.name as team_name
    from agents a join teams t on t.id = a.team_id
    """
TEAM: Final = attrgetter("team_slug")
OTHER: Final = 3
"""Distance of a text from a name that it does not mean."""
MOST_TOLD: Final = 5
"""Most agents or teams that an error names."""


@dataclass(frozen=True, slots=True)
class AgentName:
    """What an agent and its team are called."""

    id: AgentId
    slug: str
    name: str
    team_slug: str
    team_name: str


@dataclass(frozen=True, slots=True)
class OfferedName:
    """A text that names one agent, as a form offers it."""

    text: str
    label: str


def select_names(conn: Connection, tail: LiteralString, values: Sequence[Any]) -> list[AgentName]:
    """The agents (``a``) of teams (``t``) that the end of a query selects."""
    with conn.cursor(row_factory=class_row(AgentName)) as cur:
        return cur.execute(f"{NAME} {tail}", values).fetchall()


def choose_agent(names: Sequence[AgentName], text: str, field: str, missing: str) -> AgentId:
    """The one agent with this id or name; ``team/agent`` names the team too.

    Exact names precede those in another case, and these precede equal slugs. Raises Invalid for
    the field, with the message ``missing`` if no agent has the name.
    """
    fitting = [name for name in names if name.id == text] or _closest(names, text)
    if not fitting:
        raise Invalid(field, missing)
    if len(fitting) == 1:
        return fitting[0].id
    teams = sorted({name.team_name for name in fitting})
    if "/" not in text and len(teams) == len(fitting):
        listed = ", ".join(teams[:MOST_TOLD])
        raise Invalid(field, f"write TEAM/{text}: several teams have this agent ({listed})")
    listed = ", ".join(
        f"{name.name} of {name.team_name} is {name.id}" for name in fitting[:MOST_TOLD]
    )
    raise Invalid(field, f"write an id: several agents have this name ({listed})")


def offer_names(conn: Connection, names: Sequence[AgentName]) -> list[OfferedName]:
    """Offers ``team/agent``, or the id if this text fits another agent of the team as well."""
    of_teams = select_names(
        conn, "where t.slug = any (%s) order by a.id", ([name.team_slug for name in names],)
    )
    by_team = groupby(sorted(of_teams, key=TEAM), TEAM)
    teams = {team: list(agents) for team, agents in by_team}
    offered = []
    for name in names:
        text = f"{name.team_name}/{name.slug}"
        if _closest(teams[name.team_slug], text) == [name]:
            offered.append(OfferedName(text, name.name))
        else:
            offered.append(OfferedName(name.id, f"{name.team_name} / {name.name}"))
    return offered


def _closest(names: Sequence[AgentName], text: str) -> list[AgentName]:
    text = normal_text(text)
    team, slash, agent = text.rpartition("/")
    distances = []
    for name in names:
        distance = _distance(name.name, name.slug, agent)
        if slash:
            distance = max(distance, _distance(name.team_name, name.team_slug, team))
        distances.append(distance)
    least = min(distances, default=OTHER)
    if least < OTHER:
        return [name for name, its in zip(names, distances, strict=True) if its == least]
    return [name for name in names if slash and name.name == text]


def _distance(name: str, slug: str, text: str) -> int:
    if text == name:
        return 0
    if name_key(text) == name_key(name):
        return 1
    return 2 if text.lower() == slug or is_named(name, text) else OTHER
