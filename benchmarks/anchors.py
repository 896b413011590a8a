"""Reference agents of known strength against the known figures, by our own rules in one process.

    python -m benchmarks.anchors [--quick] [--jobs 2] [--only snake]

The known figures are published ones and those measured with the games' own engines. A mean that is
to be equal is met within three standard errors; one that is to be reached is met by the mean
itself. A draw is half a win. Games of one row have different starts; seats alternate.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, Literal

from benchmarks.tables import aligned, machine
from games.golad import GAME as GOLAD
from games.snake import GAME as SNAKE

AGENTS = Path(__file__).parents[1] / "agents"
SMALL = GOLAD.configure({"width": 6, "height": 6, "startingCells": 10})
QUICK_GAMES = 20
CHUNK = 10


@dataclass(frozen=True)
class Known:
    """A figure of one kind of game: which column of its results, and what it is to be."""

    what: str
    column: int
    value: float | None
    rule: Literal["equal", "at least"] = "equal"
    percent: bool = False


@dataclass(frozen=True)
class Series:
    """Games of one kind, each known by its number, and the figures that they give."""

    game: str
    agents: tuple[str, ...]
    games: int
    known: tuple[Known, ...]


def snake(agent: str, games: int, *known: Known) -> Series:
    return Series("snake", (agent,), games, known)


def golad(agent: str, against: str, value: float | None, rule: Any = "equal") -> Series:
    figure = Known(f"GOLAD 6x6 {agent} v {against}", 0, value, rule, percent=True)
    return Series("golad", (agent, against), 2000, (figure,))


SERIES = (
    snake("uniform", 5000, Known("Snake uniform, length", 0, 6.28)),
    snake("cycle", 2000, Known("Snake cycle, length", 0, 29.822)),
    snake("shortest_path", 2000, Known("Snake shortest path, length", 0, None)),
    snake(
        "cycle_repair",
        2000,
        Known("Snake cycle repair, length", 0, 98.5, "at least"),
        Known("Snake cycle repair, wins", 1, 0.88, "at least", percent=True),
        Known("Snake cycle repair, steps of wins", 2, None),
    ),
    golad("pass", "random", 0.657),
    golad("kill", "random", 0.749),
    golad("kill", "pass", 0.702),
    golad("greedy_kills", "random", 0.905),
    golad("greedy_kills", "pass", 0.914),
    golad("greedy", "random", 0.95, "at least"),
    golad("greedy", "pass", 0.971),
    golad("greedy", "kill", 0.947),
    golad("greedy", "greedy_kills", 0.720),
    golad("search", "greedy", 0.5, "at least"),
)
ROLLOUTS = snake(
    "rollouts",
    500,
    Known("Snake rollouts, length", 0, None),
    Known("Snake rollouts, wins", 1, 0.975, "at least", percent=True),
    Known("Snake rollouts, steps of wins", 2, None),
)


@cache
def load(game: str, name: str) -> ModuleType:
    """The agent's file as a module of its own."""
    folder = AGENTS / game / name
    path = next(path for path in (folder / "main.py", folder / "bot.py") if path.exists())
    spec = importlib.util.spec_from_file_location(f"{game}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def play_snake(agents: Sequence[str], number: int) -> tuple[float | None, ...]:
    """Length, whether it won, and the steps if it did. The number is the seed of the apples."""
    configuration, chance = SNAKE.configure({}), Random(f"apples {number}")
    agent = load("snake", agents[0]).agent
    state, _ = SNAKE.reset(configuration, 1, chance)
    while SNAKE.to_move(state):
        move = SNAKE.parse(state, 0, agent(SNAKE.observe(state, 0), configuration))
        state, _ = SNAKE.step(state, {0: move}, chance)
    outcome = SNAKE.outcome(state)
    assert outcome is not None
    (told,) = outcome.statistics
    return told["length"], told["won"], told["steps"] if told["won"] else None


def play_golad(agents: Sequence[str], number: int) -> tuple[float | None, ...]:
    """What the first agent was paid; its seat is the number's parity."""
    own_seat = number % 2
    decide = [load("golad", name).decide for name in agents]
    state, _ = GOLAD.reset(SMALL, 2, Random(f"start {number}"))
    while state.seat is not None:
        seat, seen = state.seat, GOLAD.observe(state, state.seat)
        answer = decide[seat != own_seat](
            seen["width"], seen["height"], str(seat), seen["field"].split(",")
        )
        state, _ = GOLAD.step(state, {seat: GOLAD.parse(state, seat, answer)}, {})
    outcome = GOLAD.outcome(state)
    assert outcome is not None
    return (outcome.rewards[own_seat],)


PLAYS: dict[str, Callable[[Sequence[str], int], tuple[float | None, ...]]] = {
    "golad": play_golad,
    "snake": play_snake,
}


def play(series: Series, numbers: Sequence[int]) -> list[tuple[float | None, ...]]:
    return [PLAYS[series.game](series.agents, number) for number in numbers]


def row(figure: Known, results: Sequence[tuple[float | None, ...]]) -> tuple[str, ...]:
    """what, games, measured, its 95 % interval, known, standard errors apart, met?"""
    samples = [value for result in results if (value := result[figure.column]) is not None]
    if len(samples) < 2:
        return (figure.what, str(len(samples)), "-", "-", "-", "-", "-")
    mean = statistics.fmean(samples)
    error = statistics.stdev(samples) / math.sqrt(len(samples))

    def shown(value: float) -> str:
        return f"{100 * value:.1f} %" if figure.percent else f"{value:.2f}"

    cells = [figure.what, str(len(samples)), shown(mean)]
    cells.append(f"{shown(mean - 1.96 * error)} .. {shown(mean + 1.96 * error)}")
    if figure.value is None:
        return (*cells, "-", "-", "-")
    apart = (mean - figure.value) / error if error else 0.0
    is_equal = figure.rule == "equal"
    met = abs(apart) <= 3 if is_equal else mean >= figure.value
    known = shown(figure.value) if is_equal else f">= {shown(figure.value)}"
    return (*cells, known, f"{apart:+.1f}", "yes" if met else "NO")


def main() -> int:
    parser = argparse.ArgumentParser(description="Reference agents against known figures")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_GAMES} games of each kind")
    parser.add_argument("--jobs", type=int, default=1, help="processes that play")
    parser.add_argument("--only", default="", help="agents whose game or name has this in it")
    options = parser.parse_args()
    head = ("what", "games", "measured", "95 % interval", "known", "errors apart", "met?")
    lines: list[tuple[str, ...]] = [head]
    with ProcessPoolExecutor(options.jobs) as pool:
        for series in (*SERIES, ROLLOUTS):
            if options.only not in " ".join((series.game, *series.agents)):
                continue
            games = QUICK_GAMES if options.quick else series.games
            chunks = [range(at, min(games, at + CHUNK)) for at in range(0, games, CHUNK)]
            results = list(chain.from_iterable(pool.map(play, [series] * len(chunks), chunks)))
            lines += [row(figure, results) for figure in series.known]
    print(f"Reference agents and known figures; {machine()}\n")
    print(aligned(lines))
    return any(line[-1] == "NO" for line in lines) and not options.quick


if __name__ == "__main__":
    sys.exit(main())
