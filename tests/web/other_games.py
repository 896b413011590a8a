"""A league with one finished match for each game beside Hungry Geese, for their replay players."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from random import Random
from typing import Any

from games import GAMES
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.enums import MatchKind
from ladder.ids import MatchId
from ladder.leagues import leagues, seasons
from ladder.matches import matches
from ladder.matches.records import LineupSeat
from ladder.people import users
from ladder.people.records import User
from tests.web.games_played import AGENTS, Agent, play_queued

SMALL: dict[str, dict[str, Any]] = {
    "battlesnake": {"map": "royale", "shrinkEveryNTurns": 4, "maxTurns": 60},
    "golad": {"width": 8, "height": 8, "startingCells": 12, "maxRounds": 12},
    "snake": {"maxSteps": 60},
}
SEEDS = {"battlesnake": 184, "golad": 2, "snake": 0}
"""Long games, with ends of several kinds."""


def safe_step(name: str) -> Agent:
    """The reference agent of Battlesnake; one named Late never answers."""
    path = AGENTS.parent / "battlesnake" / "safe_step" / "main.py"
    spec = importlib.util.spec_from_file_location("safe_step", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def agent(observation: dict[str, Any], configuration: dict[str, Any]) -> str:
        if name == "Late":
            raise RuntimeError("never answers")
        answer: str = module.agent(observation, configuration)
        return answer

    return agent


def gardener(name: str) -> Agent:
    """Births and kills by turns in the Game of Life and Death."""
    rng = Random(name)

    def agent(observation: dict[str, Any], configuration: dict[str, Any]) -> str:
        width, letters = observation["width"], observation["field"].split(",")

        def some(count: int, letter: str) -> list[str]:
            cells = [cell for cell, one in enumerate(letters) if one == letter]
            chosen = rng.sample(cells, min(count, len(cells)))
            return [f"{cell % width},{cell // width}" for cell in chosen]

        own = str(observation["you"])
        if observation["round"] % 2 and letters.count(own) > 1:
            return " ".join(["birth", *some(1, "."), *some(2, own)])
        return " ".join(["kill", *some(1, "1" if own == "0" else "0")])

    return agent


def wanderer(name: str) -> Agent:
    """Any free neighbour, in Snake."""
    rng = Random(name)

    def agent(observation: dict[str, Any], configuration: dict[str, Any]) -> str:
        (x, y), taken = observation["snake"][0], observation["snake"]
        near = {"up": [x, y - 1], "down": [x, y + 1], "left": [x - 1, y], "right": [x + 1, y]}
        size = range(observation["width"]), range(observation["height"])
        free = [
            move
            for move, cell in near.items()
            if cell[0] in size[0] and cell[1] in size[1] and cell not in taken
        ]
        return rng.choice(free)

    return agent


PLAYERS = {
    "battlesnake": (safe_step, ("Coil", "Late", "Hiss", "Ouroboros")),
    "golad": (gardener, ("Glider", "Blinker")),
    "snake": (wanderer, ("Python",)),
}


def play_all(conn: Connection, blobs: Blobs, host: User) -> dict[str, MatchId]:
    """The finished match of each game, by its name."""
    return {name: play_one(conn, blobs, host, name) for name in PLAYERS}


def play_one(conn: Connection, blobs: Blobs, host: User, name: str) -> MatchId:
    game, (player, names) = GAMES[name], PLAYERS[name]
    league = leagues.create_league(
        conn,
        slug=name,
        title=game.title,
        game=name,
        visibility="public",
        replay_visibility="public",
        created_by=host.id,
        description=f"One match of {game.title}.",
    )
    configuration = game.configure(SMALL[name])
    season = seasons.create_season(
        conn,
        league.id,
        seasons.SeasonColumns(
            configuration=configuration,
            configuration_digest=hashlib.sha256(json.dumps(configuration).encode()).hexdigest(),
            clock={"bank_seconds": 60.0, **game.clock},
            seats=len(names),
        ),
    )
    lineup = []
    for each in names:
        team = users.create_team(conn, f"Team {each}", f"{name}-{each.lower()}", None)
        agent_id = agents.create_agent(conn, team.id, each, each.lower()).id
        content = f"# {name} {each}".encode()
        digest = hashlib.sha256(content).hexdigest()
        blobs.put_bytes(content)
        submission, _ = agents.add_submission(
            conn, agent_id, digest, len(content), "main.py", "plays", None
        )
        entry = entries.enter_season(conn, season.id, submission.id)[0]
        conn.commit()
        assert entry.validation_match_id is not None
        copies = [player(f"copy {seat}") for seat in range(len(names))]
        play_queued(conn, blobs, entry.validation_match_id, copies)
        lineup.append(LineupSeat(entry.id, submission.id, agent_id, team.id))
    match_id = matches.create_match(
        conn, season=season, kind=MatchKind.RATED, lineup=lineup, seed=bytes([SEEDS[name]] * 16)
    )
    conn.commit()
    play_queued(conn, blobs, match_id, [player(each) for each in names])
    return match_id
