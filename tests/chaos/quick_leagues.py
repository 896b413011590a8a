"""Leagues of short games between quick agents, so that many matches end in a short time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from games import GAMES
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries, reference_agents
from ladder.enums import ReplayVisibility, Visibility
from ladder.ids import LeagueId, UserId
from ladder.leagues import leagues, seasons
from ladder.people import users

TEAMS: Final = 6


@dataclass(frozen=True)
class QuickLeague:
    """A game with its short configuration, and the agents that play it."""

    game: str
    seats: int
    agents: tuple[str, ...]
    configuration: Mapping[str, Any] = field(default_factory=dict)


QUICK: Final = {
    league.game: league
    for league in (
        QuickLeague("hungry_geese", 4, ("random_legal", "greedy"), {"episodeSteps": 60}),
        QuickLeague("battlesnake", 4, ("safe_step", "grazer"), {"maxTurns": 60}),
        QuickLeague("golad", 2, ("random", "kill"), {"width": 6, "height": 6, "startingCells": 10}),
        QuickLeague("snake", 1, ("uniform", "cycle"), {"maxSteps": 200}),
    )
}


def make_quick_league(
    conn: Connection,
    blobs: Blobs,
    owner: UserId,
    league: QuickLeague,
    terms: Mapping[str, Any] | None = None,
    slug: str = "",
) -> LeagueId:
    """A league of this game with agents of six teams. ``terms`` are more columns of its season.
    Without a slug its name is that of the game."""
    configuration = GAMES[league.game].configure(league.configuration)
    digest = hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()
    slug = slug or league.game.replace("_", "-")
    made = leagues.create_league(
        conn,
        slug=slug,
        title=slug,
        game=league.game,
        visibility=Visibility.PUBLIC,
        replay_visibility=ReplayVisibility.PUBLIC,
        created_by=owner,
    )
    season = seasons.create_season(
        conn,
        made.id,
        seasons.SeasonColumns(
            configuration=configuration,
            configuration_digest=digest,
            clock={"act_seconds": 1.0, "bank_seconds": 60.0},
            seats=league.seats,
            **(terms or {}),
        ),
    )
    for number in range(TEAMS):
        name = f"{slug}-{number}"
        team = users.create_team(conn, name, name, None)
        agent = agents.create_agent(conn, team.id, name, name)
        chosen = league.agents[number % len(league.agents)]
        filename, content = reference_agents.read_bundle(league.game, chosen)
        if filename == "main.py":
            content += f"\n# {name}\n".encode()
        stored = blobs.put_bytes(content)
        submission, _ = agents.add_submission(
            conn, agent.id, stored.digest, stored.size, filename, "", owner
        )
        entries.enter_season(conn, season.id, submission.id, profile="python", count_limit=False)
    return made.id
