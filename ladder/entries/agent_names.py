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

NAME: Final = (
    "select a.id, a.slug, a.name, t.slug as team_slug, t.name as team_name"
    " from agents a join teams t on t.id = a.team_id"
)
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


def choose_agent(known: Sequence[AgentName], text: str, field: str, missing: str) -> AgentId:
    """The one agent with this id or name; ``team/agent`` names the team too.

    Exact names precede those in another case, and these precede equal slugs. Raises Invalid for
    the field, with the message ``missing`` if no agent has the name.
    """
    found = [one for one in known if one.id == text] or _closest(known, text)
    if not found:
        raise Invalid(field, missing)
    if len(found) == 1:
        return found[0].id
    teams = sorted({one.team_name for one in found})
    if "/" not in text and len(teams) == len(found):
        named = ", ".join(teams[:MOST_TOLD])
        raise Invalid(field, f"write TEAM/{text}: several teams have this agent ({named})")
    named = ", ".join(f"{one.name} of {one.team_name} is {one.id}" for one in found[:MOST_TOLD])
    raise Invalid(field, f"write an id: several agents have this name ({named})")


def offer_names(conn: Connection, found: Sequence[AgentName]) -> list[OfferedName]:
    """Offers ``team/agent``, or the id if this text fits another agent of the team as well."""
    of_teams = select_names(
        conn,
        "where t.slug = any (%s) order by a.id",
        ([one.team_slug for one in found],),
    )
    by_team = groupby(sorted(of_teams, key=TEAM), TEAM)
    teams = {team: list(agents) for team, agents in by_team}
    offered = []
    for one in found:
        text = f"{one.team_name}/{one.slug}"
        if _closest(teams[one.team_slug], text) == [one]:
            offered.append(OfferedName(text, one.name))
        else:
            offered.append(OfferedName(one.id, f"{one.team_name} / {one.name}"))
    return offered


def _closest(known: Sequence[AgentName], text: str) -> list[AgentName]:
    text = normal_text(text)
    team, slash, name = text.rpartition("/")
    distances = []
    for one in known:
        distance = _distance(one.name, one.slug, name)
        if slash:
            distance = max(distance, _distance(one.team_name, one.team_slug, team))
        distances.append(distance)
    least = min(distances, default=OTHER)
    if least < OTHER:
        return [one for one, each in zip(known, distances, strict=True) if each == least]
    return [one for one in known if slash and one.name == text]


def _distance(name: str, slug: str, text: str) -> int:
    if text == name:
        return 0
    if name_key(text) == name_key(name):
        return 1
    return 2 if text.lower() == slug or is_named(name, text) else OTHER
