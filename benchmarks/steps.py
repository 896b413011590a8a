"""Steps a second of the engines on one core: whole games, and their steps alone played again.

    python -m benchmarks.steps [--games 60]

``ENGINES`` has a line for each game; ``benchmarks.engine`` prints this beside its own table, which
sets Hungry Geese against its peer.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from benchmarks import battlesnake
from benchmarks.tables import aligned, machine
from games import GAMES
from games.protocol import Game

ROUNDS = 5
AGENTS = battlesnake.AGENTS.parent
Player = Callable[[Any], Any]


@dataclass(frozen=True)
class Engine:
    """A game as it is timed. The same player sits in all seats, called in process."""

    label: str
    game: str
    seats: int
    player: Callable[[], Player]
    overrides: Mapping[str, Any] = field(default_factory=dict)


def safe_step() -> Player:
    return battlesnake.load("safe_step")


def random_bot() -> Player:
    bot = battlesnake.module_of(AGENTS / "golad" / "random" / "bot.py")

    def player(seen: Any) -> Any:
        field = seen["field"].split(",")
        return bot.decide(seen["width"], seen["height"], str(seen["you"]), field)

    return player


def uniform() -> Player:
    module = battlesnake.module_of(AGENTS / "snake" / "uniform" / "main.py")
    return lambda seen: module.agent(seen, {})


ENGINES = (
    Engine("Battlesnake, 4 safe steps", "battlesnake", 4, safe_step),
    Engine("Battlesnake royale, 8 safe steps", "battlesnake", 8, safe_step, {"map": "royale"}),
    Engine(
        "Battlesnake wrapped, 16 on 19x19",
        "battlesnake",
        16,
        safe_step,
        {"ruleset": "wrapped", "width": 19, "height": 19},
    ),
    Engine("GOLAD, 2 random bots", "golad", 2, random_bot),
    Engine("Snake, uniform", "snake", 1, uniform),
)


def timed(engine: Engine, games: int) -> tuple[str, ...]:
    """label, steps in a game, steps/s played again, steps/s of whole games"""
    game: Game[Any] = GAMES[engine.game]
    configuration = game.configure(engine.overrides)
    player = engine.player()
    recordings = []
    began = time.process_time()
    for number in range(games):
        random.seed(number)  # the players draw from it
        rng, steps = Random(number), []
        state, start = game.reset(configuration, engine.seats, rng)
        while asked := game.to_move(state):
            moves = {
                seat: game.parse(state, seat, player(game.observe(state, seat))) for seat in asked
            }
            state, chance = game.step(state, moves, rng)
            steps.append((moves, chance))
        recordings.append((start, steps))
    whole = time.process_time() - began
    again = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for start, steps in recordings:
            state, _ = game.reset(configuration, engine.seats, start)
            for moves, chance in steps:
                state, _ = game.step(state, moves, chance)
        again.append(time.process_time() - began)
    count = sum(len(steps) for _, steps in recordings)
    return (
        engine.label,
        f"{count / games:.0f}",
        f"{count / statistics.median(again):,.0f}",
        f"{count / whole:,.0f}",
    )


def report(games: int) -> str:
    head = ("engine", "steps a game", "rules steps/s", "games steps/s")
    return aligned([head, *(timed(engine, games) for engine in ENGINES)])


def main() -> None:
    parser = argparse.ArgumentParser(description="steps a second of the engines")
    parser.add_argument("--games", type=int, default=60)
    options = parser.parse_args()
    print(f"One core, processor time; {machine()}\n")
    print(report(options.games))


if __name__ == "__main__":
    main()
