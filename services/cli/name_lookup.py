"""Finds things by name: an agent, the season of a league, an opponent on the leaderboard."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ladder.slugs import is_named, name_key, slug_of
from services.api_client import Client, Json
from services.cli.saved_login import MissingInput

FIRST_UPLOAD: Final = "peck submit main.py --agent NAME --league LEAGUE"
"""The command that makes a first agent."""


def own_agents(ladder: Client) -> list[Json]:
    """The agents of the caller's teams."""
    return [row for team in ladder.me()["teams"] for row in ladder.agents(team["id"])]


def find_agent(agents: list[Json], name: str) -> Json | None:
    """The agent with this id, slug or name. Ignores case; ``a_b`` equals ``a-b``."""
    key, slug = name_key(name), slug_of(name)
    return next(
        (
            row
            for row in agents
            if name == row["id"] or key == name_key(row["name"]) or (slug and slug == row["slug"])
        ),
        None,
    )


def own_agent(ladder: Client, name: str) -> Json:
    """The caller's agent with this id, slug or name. Raises MissingInput with the existing
    names."""
    agents = own_agents(ladder)
    found = find_agent(agents, name)
    if found is None:
        raise MissingInput(f"{named_agents(agents)}; {name!r} is not one", next_after(agents))
    return found


def named_agents(agents: list[Json]) -> str:
    """Asks for one of these agents."""
    names = ", ".join(row["slug"] for row in agents)
    return f"choose one of your agents: {names}" if names else "you have no agent yet"


def next_after(agents: list[Json]) -> str:
    """The command that helps if none of these agents was named."""
    return "peck agent list" if agents else FIRST_UPLOAD


def find_season_id(ladder: Client, given: str | None, how: str = "with --league") -> str:
    """The id of the given season, or of the current season of the given or only league.

    Closed leagues count only if there is no other. Raises MissingInput, with ``how`` to name a
    season.
    """
    if given is not None:
        found: str = ladder.season(given)["id"]
        return found
    current = [row for row in ladder.leagues() if row["current_season"]]
    wanted = [row for row in current if row["state"] != "closed"] or current
    if len(wanted) == 1:
        only: str = wanted[0]["current_season"]
        return only
    slugs = ", ".join(row["slug"] for row in wanted)
    raise MissingInput(
        f"name a league {how}: {slugs}" if wanted else "there is no league with a season"
    )


def opponent_id(ladder: Client, season: str, mine: list[Json], name: str) -> str:
    """An agent or submission id: the given id, or that of the caller's agent or an agent on the
    leaderboard."""
    if name.startswith(("age_", "sub_")):
        return name
    own = find_agent(mine, name)
    if own is not None:
        return str(own["id"])
    found = agent_of_rows(ladder.leaderboard(season), name)
    if found is None:
        raise MissingInput(f"give an agent's id (age_...): this leaderboard has no agent {name!r}")
    return found


def agent_to_enter(ladder: Client, tournament: str, name: str) -> str:
    """The id of an agent for a tournament: the given id, or that of the caller's agent, or of an
    agent on the season's leaderboard, such as a reference agent."""
    if name.startswith("age_"):
        return name
    mine = own_agents(ladder)
    own = find_agent(mine, name)
    if own is not None:
        return str(own["id"])
    season = ladder.get(f"/v1/tournaments/{tournament}")["season_id"]
    found = agent_of_rows(ladder.leaderboard(season), name)
    if found is None:
        names = ", ".join(row["slug"] for row in mine)
        yours = f" Your agents: {names}." if names else ""
        raise MissingInput(
            f"there is no agent {name!r}.{yours} A host can also name an agent of the leaderboard,"
            " or give its id (age_...)."
        )
    return found


def entered_agent(ladder: Client, tournament: str, name: str) -> str:
    """The id of an agent that is in the tournament, by its id or name. Raises MissingInput."""
    if name.startswith("age_"):
        return name
    rows = ladder.list_items(f"/v1/tournaments/{tournament}/entrants", limit=200)
    found = agent_of_rows(rows, name)
    if found is None:
        raise MissingInput(f"choose an agent of this tournament; {name!r} is not in it")
    return found


def agent_of_rows(rows: Iterable[Json], name: str) -> str | None:
    """The id of the agent of this name in rows of agents; None without one. Raises MissingInput
    if several have the name."""
    found = {str(row["agent_id"]) for row in rows if is_named(row["agent_name"], name)}
    if len(found) > 1:
        raise MissingInput(f"give an agent's id (age_...): several teams have an agent {name!r}")
    return next(iter(found), None)
