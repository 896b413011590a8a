"""Measures engine steps per second on one core: in whole games, and in replays of steps alone.

    python -m benchmarks.engine_steps [--games 60]

``ENGINES`` has a line for each game. ``benchmarks.engine`` prints these figures beside its own
table.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from benchmarks.report_tables import aligned, describe_machine
from games import GAMES
from games.protocol import Game

ROUNDS = 5
AGENTS = Path(__file__).parents[1] / "agents"
Player = Callable[[Any], Any]


@dataclass(frozen=True)
class Engine:
    """A game to measure. The same player sits in all seats, called in process."""

    label: str
    game: str
    seats: int
    player: Callable[[], Player]
    overrides: Mapping[str, Any] = field(default_factory=dict)


def module_of(*where: str) -> ModuleType:
    """A fresh copy of a reference agent's module."""
    path = AGENTS.joinpath(*where)
    spec = importlib.util.spec_from_file_location(f"agent_{random.random()}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def safe_step() -> Player:
    module = module_of("battlesnake", "safe_step", "main.py")
    return lambda seen: module.agent(seen, {})


def random_bot() -> Player:
    bot = module_of("golad", "random", "bot.py")

    def player(seen: Any) -> Any:
        field = seen["field"].split(",")
        return bot.decide(seen["width"], seen["height"], str(seen["you"]), field)

    return player


def uniform() -> Player:
    module = module_of("snake", "uniform", "main.py")
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


def measure_engine(engine: Engine, games: int) -> tuple[str, ...]:
    """The columns: label, steps in a game, steps/s in replays, steps/s in whole games."""
    game: Game[Any] = GAMES[engine.game]
    configuration = game.configure(engine.overrides)
    player = engine.player()
    recordings = []
    began = time.process_time()
    for number in range(games):
        random.seed(number)  # the players draw from this generator
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
    return aligned([head, *(measure_engine(engine, games) for engine in ENGINES)])


def main() -> None:
    parser = argparse.ArgumentParser(description="steps a second of the engines")
    parser.add_argument("--games", type=int, default=60)
    options = parser.parse_args()
    print(f"One core, processor time; {describe_machine()}\n")
    print(report(options.games))


if __name__ == "__main__":
    main()
