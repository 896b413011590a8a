"""Measures each game's rules, and Hungry Geese beside kaggle-environments.

    python -m benchmarks.engine [--games 20] [--rounds 5]

There are two measures of processor time, in alternating rounds; the table shows medians. *Rules
alone* replays recorded moves and food with our ``step`` and with the peer's ``Environment.step``.
*Whole games* have four random legal players in process, with our engine and with the peer's
``Environment.run``. A comparison of the games shows that both did the same work.

The peer runs unchanged, with no cache added and no check removed. The other games (``ENGINES``)
follow without a peer: whole games, and replays of their steps alone.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from benchmarks.report_tables import aligned, describe_machine
from games import GAMES
from games.hungry_geese import GAME, MOVES, State
from games.protocol import Game

OFFSETS = {"NORTH": (-1, 0), "EAST": (0, 1), "SOUTH": (1, 0), "WEST": (0, -1)}
BEHIND = {"NORTH": "SOUTH", "EAST": "WEST", "SOUTH": "NORTH", "WEST": "EAST"}
SEATS = 4
Agent = Callable[[Any, Any], str]
Recording = tuple[Any, list[tuple[dict[int, Any], Any]], State]


def random_legal(seed: str) -> Agent:
    """A player that moves to a random free cell and never reverses; depends only on the seed."""
    rng = Random(seed)
    last = ""

    def agent(observation: Any, configuration: Any) -> str:
        nonlocal last
        rows, columns = configuration["rows"], configuration["columns"]
        row, column = divmod(observation["geese"][observation["index"]][0], columns)
        taken = {cell for goose in observation["geese"] for cell in goose}
        legal = [
            move
            for move, (down, right) in OFFSETS.items()
            if (row + down) % rows * columns + (column + right) % columns not in taken
            and move != BEHIND.get(last)
        ]
        last = rng.choice(legal or MOVES)
        return last

    return agent


def players(game: int) -> list[Agent]:
    return [random_legal(f"{game} {seat}") for seat in range(SEATS)]


def play_ours(game: int, configuration: Mapping[str, Any]) -> Recording:
    """Play a whole game with our engine: reset, observations, players, steps."""
    rng, agents = Random(game), players(game)
    GAME.reset(configuration, 1, rng)  # the peer's make draws its own board
    state, start = GAME.reset(configuration, SEATS, rng)
    record = []
    while state.active:
        moves: dict[int, Any] = {}
        for seat in state.active:
            raw = agents[seat](GAME.observe(state, seat), configuration)
            moves[seat] = GAME.parse(state, seat, raw)
        state, chance = GAME.step(state, moves, rng)
        record.append((moves, chance))
    return start, record, state


def step_ours(recording: Recording, configuration: Mapping[str, Any]) -> None:
    start, record, end = recording
    state, _ = GAME.reset(configuration, SEATS, start)
    for moves, chance in record:
        state, _ = GAME.step(state, moves, chance)
    assert state == end


class Peer:
    """kaggle-environments, imported without its output."""

    def __init__(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            import kaggle_environments
            from kaggle_environments.envs.hungry_geese import hungry_geese

        self.version: str = kaggle_environments.__version__
        self.make = kaggle_environments.make
        self.rules = hungry_geese

    def play(self, game: int) -> Any:
        random.seed(game)
        environment = self.make("hungry_geese")
        environment.run(players(game))
        return environment.state

    def step(self, recordings: list[Recording]) -> float:
        """Replay the recordings; returns the processor seconds of ``step`` alone."""
        spent = 0.0
        environment = self.make("hungry_geese")
        sample = self.rules.sample
        try:
            for start, record, _ in recordings:
                given = iter([start["heads"], start["food"]])
                self.rules.sample = lambda *_, given=given: list(next(given))
                environment.reset(SEATS)
                started = time.process_time()
                for moves, chance in record:
                    self.rules.sample = lambda *_, food=chance["food"]: list(food)
                    environment.step([moves.get(seat) for seat in range(SEATS)])
                spent += time.process_time() - started
        finally:
            self.rules.sample = sample
        return spent


def timed(work: Callable[..., Any], each: Iterable[Any], *more: Any) -> tuple[float, list[Any]]:
    """Call ``work`` on each item; returns the processor seconds and the results."""
    started = time.process_time()
    results = [work(one, *more) for one in each]
    return time.process_time() - started, results


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
    for _ in range(5):
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


def main() -> None:
    parser = argparse.ArgumentParser(description="Hungry Geese here and at kaggle-environments")
    parser.add_argument("--games", type=int, default=20, help="games in a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    configuration = GAME.configure({})
    peer = Peer()
    seconds: dict[str, list[tuple[float, float]]] = {"rules": [], "games": []}
    steps = 0
    for number in range(options.rounds):
        games = range(number * options.games, (number + 1) * options.games)
        ours, recordings = timed(play_ours, games, configuration)
        theirs, ends = timed(peer.play, games)
        for (_, _, end), there in zip(recordings, ends, strict=True):
            assert [goose["reward"] for goose in there] == list(end.rewards), "games differ"
        seconds["games"].append((ours, theirs))
        # One pass of our steps is too short for a good measurement.
        again = [timed(step_ours, recordings, configuration)[0] for _ in range(5)]
        seconds["rules"].append((statistics.median(again), peer.step(recordings)))
        steps += sum(len(record) for _, record, _ in recordings)
    mean = steps / (options.games * options.rounds)
    print(f"One core, processor time; {describe_machine()}")
    print(f"Hungry Geese, {SEATS} random legal players, {mean:.0f} steps a game on average;")
    print(f"medians of {options.rounds} rounds of {options.games} games\n")
    lines: list[tuple[str, ...]] = [("", f"kaggle {peer.version}", "here", "ratio")]
    for label, key, work in (
        ("rules steps/s", "rules", mean * options.games),
        ("games steps/s", "games", mean * options.games),
        ("games games/s", "games", options.games),
    ):
        ours, theirs = (statistics.median(column) for column in zip(*seconds[key], strict=True))
        ratio = statistics.median(slow / quick for quick, slow in seconds[key])
        lines.append((label, f"{work / theirs:,.1f}", f"{work / ours:,.0f}", f"{ratio:.0f}x"))
    print(f"{aligned(lines)}\n")
    head = ("engine", "steps a game", "rules steps/s", "games steps/s")
    print(aligned([head, *(measure_engine(engine, 3 * options.games) for engine in ENGINES)]))


if __name__ == "__main__":
    main()
