"""The order of Battlesnake's reference agents, by games played in this process, with intervals.

    python -m benchmarks.battlesnake [--games 200] [--workers 2]

Each row plays one agent against others on 11x11, its seat moving on from game to game. A rate
counts a tie at the top as half a win; the interval is Wilson's, 95 %. Every agent has its own
``random``, seeded by game and seat; the searcher's walks are counted, not timed, so that a busy
machine plays the same games.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.tables import machine, quantile
from games.battlesnake import GAME
from ladder.intervals import wilson

AGENTS = Path(__file__).parents[1] / "agents" / "battlesnake"
ROWS = (
    ("painter", ("safe_step",)),
    ("painter", ("safe_step",) * 3),
    ("searcher", ("safe_step",)),
    ("searcher", ("painter",)),
    ("searcher", ("painter",) * 3),
)
HEAD = ("who", "games", "won-tied-lost", "rate, 95 %", "if equal", "turns", "ms a move / 99th")
WIDTHS = (23, 5, 13, 24, 8, 5, 16)
Played = tuple[float, int, list[float]]


def module_of(path: Path) -> Any:
    """A fresh copy of a reference agent's module."""
    spec = importlib.util.spec_from_file_location(f"agent_{random.random()}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name: str) -> Callable[[Any], Any]:
    """A fresh copy of a reference agent, called in process whatever its contract is."""
    folder = AGENTS / name
    is_server = (folder / "peck.json").exists()
    module = module_of(folder / ("server.py" if is_server else "main.py"))
    if is_server:
        decide: Callable[[Any], Any] = module.decide
        return decide
    if hasattr(module, "BUDGET_SECONDS"):
        module.BUDGET_SECONDS = 60.0
    return lambda observation: module.agent(observation, {})


def play(row: int, number: int) -> Played:
    """What the first agent of a row got (1, 0.5 or 0), the turns, and its seconds by move."""
    name, others = ROWS[row]
    seat = number % (1 + len(others))
    names = [*others[:seat], name, *others[seat:]]
    agents = [load(one) for one in names]
    chance = Random(f"{row} {number}")
    random.seed(f"players {row} {number}")
    state, _ = GAME.reset(GAME.configure({}), len(names), chance)
    seconds = []
    while asked := GAME.to_move(state):
        moves = {}
        for one in asked:
            seen = json.loads(json.dumps(GAME.observe(state, one)))
            began = time.perf_counter()
            raw = agents[one](seen)
            if one == seat:
                seconds.append(time.perf_counter() - began)
            moves[one] = GAME.parse(state, one, raw)
        state, _ = GAME.step(state, moves, chance)
    outcome = GAME.outcome(state)
    assert outcome is not None
    if outcome.placements[seat] > 1:
        return 0.0, state.turn, seconds
    return 1.0 if outcome.placements.count(1) == 1 else 0.5, state.turn, seconds


def cells(row: int, played: Sequence[Played]) -> tuple[str, ...]:
    name, others = ROWS[row]
    scores = [score for score, _, _ in played]
    rate, count = statistics.mean(scores), len(scores)
    low, high = wilson(sum(scores), count)
    spent = [1000 * one for _, _, seconds in played for one in seconds]
    return (
        f"{name} v {len(others)} {others[0]}",
        str(count),
        f"{scores.count(1.0)}-{scores.count(0.5)}-{scores.count(0.0)}",
        f"{100 * rate:.1f} % ({100 * low:.1f} to {100 * high:.1f})",
        f"{100 / (1 + len(others)):.0f} %",
        f"{statistics.mean(turns for _, turns, _ in played):.0f}",
        f"{statistics.median(spent):.1f} / {quantile(spent, 0.99):.1f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="the order of Battlesnake's reference agents")
    parser.add_argument("--games", type=int, default=200, help="games of a row")
    parser.add_argument("--workers", type=int, default=2, help="processes that play")
    options = parser.parse_args()
    print(f"Battlesnake, standard, 11x11; {machine()}\n")
    show(HEAD)
    with ProcessPoolExecutor(options.workers) as pool:
        for row in range(len(ROWS)):
            numbers = range(options.games)
            show(cells(row, list(pool.map(play, [row] * len(numbers), numbers))))


def show(line: Sequence[str]) -> None:
    """A row as soon as it is played, as the last ones take minutes."""
    print("  ".join(map(str.ljust, line, WIDTHS)).rstrip(), flush=True)


if __name__ == "__main__":
    main()
