"""What a person meant: an agent by name, a season by its league, an opponent on the board."""

from __future__ import annotations

import re

from services.cli.saved_login import MissingInput
from services.client import Client, Json


def own_agents(ladder: Client) -> list[Json]:
    """The agents of the caller's teams."""
    return [row for team in ladder.me()["teams"] for row in ladder.agents(team["id"])]


def find_agent(agents: list[Json], name: str) -> Json | None:
    """The agent with this id, slug or name, whatever its case; ``a_b`` and ``a-b`` are one."""
    wanted, slug = name.lower(), slug_of(name)
    return next(
        (
            row
            for row in agents
            if wanted in (row["id"], row["name"].lower()) or (slug and slug == row["slug"])
        ),
        None,
    )


def own_agent(ladder: Client, name: str) -> Json:
    """One's own agent by id, slug or name. Raises Unset naming those there are."""
    agents = own_agents(ladder)
    found = find_agent(agents, name)
    if found is None:
        names = ", ".join(row["slug"] for row in agents) or "none yet"
        raise MissingInput(f"you have no agent {name!r}; yours: {names}")
    return found


def season_key(ladder: Client, given: str | None, how: str = "with --league") -> str:
    """A season id: of the league or season given, else of the only league there is.

    Raises Unset, which says ``how`` to name one.
    """
    if given is not None:
        found: str = ladder.season(given)["id"]
        return found
    current = [row for row in ladder.leagues() if row["current_season"]]
    if len(current) == 1:
        only: str = current[0]["current_season"]
        return only
    slugs = ", ".join(row["slug"] for row in current)
    raise MissingInput(
        f"name a league {how}: {slugs}" if current else "there is no league with a season"
    )


def slug_of(name: str) -> str:
    """A name as it stands in addresses: ``Random Legal`` and ``random-legal`` are the same."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def opponent_id(ladder: Client, season: str, mine: list[Json], name: str) -> str:
    """An agent or submission id: as given, one's own agent by name, or one on the board."""
    if name.startswith(("age_", "sub_")):
        return name
    own = find_agent(mine, name)
    if own is not None:
        return str(own["id"])
    wanted = slug_of(name)
    rows = [row for row in ladder.leaderboard(season) if slug_of(row["agent_name"]) == wanted]
    if not rows:
        raise MissingInput(f"there is no agent {name!r} on this leaderboard; give its id (age_...)")
    if len({row["agent_id"] for row in rows}) > 1:
        raise MissingInput(f"several teams have an agent {name!r}; give its id (age_...)")
    return str(rows[0]["agent_id"])
