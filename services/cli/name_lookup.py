"""Finds things by name: an agent, a person, a match, the season of a league."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ladder.slugs import is_named, name_key, slug_of
from services.api_client import Client, Json
from services.cli.saved_login import MissingInput

FIRST_UPLOAD: Final = "peck submit main.py --agent NAME --league LEAGUE"
"""The command that makes a first agent."""


def own_agents(ladder: Client) -> list[Json]:
    """The agents of the caller's teams."""
    teams = ladder.get("/v1/me")["teams"]
    return [
        row for team in teams for row in ladder.list_items("/v1/agents", team=team["id"], limit=200)
    ]


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
    agent = find_agent(agents, name)
    if agent is None:
        raise MissingInput(f"{named_agents(agents)}; {name!r} is not one", next_after(agents))
    return agent


def named_agents(agents: list[Json]) -> str:
    """Asks for one of these agents."""
    names = ", ".join(row["slug"] for row in agents)
    return f"choose one of your agents: {names}" if names else "you have no agent yet"


def next_after(agents: list[Json]) -> str:
    """The command that helps if none of these agents was named."""
    return "peck agent list" if agents else FIRST_UPLOAD


def find_season_id(ladder: Client, season: str | None, option: str = "with --league") -> str:
    """The id of the given season, or of the current season of the given or only league.

    Closed leagues count only if there is no other. Raises MissingInput, with ``option`` to name a
    season.
    """
    if season is not None:
        return str(ladder.get(f"/v1/seasons/{season}")["id"])
    leagues = [row for row in ladder.list_items("/v1/leagues", limit=200) if row["current_season"]]
    leagues = [row for row in leagues if row["state"] != "closed"] or leagues
    if len(leagues) == 1:
        return str(leagues[0]["current_season"])
    slugs = ", ".join(row["slug"] for row in leagues)
    raise MissingInput(
        f"name a league {option}: {slugs}" if leagues else "there is no league with a season"
    )


def is_agent_id(name: str) -> bool:
    """Whether the API takes it as an agent, or as a submission of one."""
    return name.startswith(("age_", "sub_"))


def agent_id(
    ladder: Client, name: str, where: Mapping[str, Any], mine: list[Json] | None = None
) -> str:
    """An agent's id by its name: of the caller's agents, else of all that the caller may see.

    ``where`` may name the season, league or tournament that decides between equal names. An id
    stays as it is. Raises MissingInput.
    """
    if is_agent_id(name):
        return name
    if mine is None:
        mine = own_agents(ladder) if ladder.headers else []
    own = find_agent(mine, name)
    if own is not None:
        return str(own["id"])
    team, _, short = name.rpartition("/")
    results = [] if len(short) < 2 else ladder.get("/v1/search", q=short, limit=100)["items"]
    ids = {
        str(row["id"])
        for row in results
        if row["kind"] == "agent"
        and (is_named(row["name"], short) or slug_of(short) == row["slug"])
        and (not team or team_is_named(row["about"], team))
    }
    if len(ids) != 1 and (season := season_of(ladder, where)) is not None:
        path = f"/v1/seasons/{season}/leaderboard"
        rows = ladder.list_items(path, limit=1000)
        ids = {str(row["agent_id"]) for row in rows if is_named(row["agent_name"], short)}
    if len(ids) == 1:
        return ids.pop()
    if ids:
        raise MissingInput(
            f"give TEAM/AGENT, or an id (age_...): several agents are named {name!r}"
        )
    names = ", ".join(row["slug"] for row in mine)
    yours = f". Your agents: {names}" if names else ""
    raise MissingInput(f"give an agent's name or id (age_...): there is no agent {name!r}{yours}")


def team_is_named(about: str | None, team: str) -> bool:
    return about is not None and (is_named(about, team) or slug_of(about) == slug_of(team))


def season_of(ladder: Client, where: Mapping[str, Any]) -> str | None:
    """The season that a request names, if any."""
    if tournament := where.get("tournament"):
        return str(ladder.get(f"/v1/tournaments/{tournament}")["season_id"])
    return where.get("season") or where.get("league")


def user_id(ladder: Client, name: str, where: Mapping[str, Any]) -> str:
    """The id of a person by name: in the team or league of a request, else of anybody, for
    administrators. An id stays as it is. Raises MissingInput."""
    if name == "me" or name.startswith("usr_"):
        return name
    if team := where.get("team"):
        rows = list(ladder.list_items(f"/v1/teams/{team}/members"))
    elif league := where.get("league"):
        paths = (f"/v1/leagues/{league}/{kind}" for kind in ("members", "blocks"))
        rows = [row for path in paths for row in ladder.list_items(path, limit=200)]
    else:
        rows = list(ladder.list_items("/v1/users", q=name, limit=200))
    for row in rows:
        if name_key(row["name"]) == name_key(name):
            return str(row.get("user_id") or row["id"])
    names = f": {', '.join(row['name'] for row in rows)}" if team else " or an id (usr_...)"
    raise MissingInput(f"give an exact name{names}; {name!r} is not one")


def match_id(ladder: Client, key: str) -> str:
    """The id of a match by the number of an episode. An id stays as it is."""
    return str(ladder.get(f"/v1/episodes/{int(key)}")["match_id"]) if key.isdecimal() else key


def match_of(ladder: Client, key: str) -> tuple[str, int, str]:
    """Match id, position, and the name for files, from a match id or an episode number."""
    if key.isdecimal():
        episode = ladder.get(f"/v1/episodes/{int(key)}")
        return episode["match_id"], episode["position"], str(int(key))
    match = ladder.get(f"/v1/matches/{key}")
    if not match["episodes"]:
        raise MissingInput(f"wait for match {key}: it is {match['state']}")
    number = match["episodes"][0]["number"]
    if type(number) is not int:  # it becomes a part of a file's name
        raise MissingInput(
            f"{ladder.address} sent a wrong episode number ({number!r:.100}); check the address"
        )
    return match["id"], 0, str(number)


def matches_of(ladder: Client, most: int, **filters: Any) -> list[Json]:
    """The newest matches of an entry, an agent or a scrim."""
    return list(ladder.list_items("/v1/matches", most=most, limit=min(most, 200), **filters))
