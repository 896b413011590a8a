"""Compares reference agents of known strength with their known figures, in real matches.

    python -m benchmarks.anchors [--quick] [--games N] [--jobs 2] [--only snake]

Each match runs as on a worker: a node daemon lends sandboxes, and the referee keeps the game's
clock. A mirrored pair is two games of one sample. Known figures come from publications or from the
games' own engines.

A mean that should equal a figure must lie within three standard errors. A mean that should reach a
figure must reach it itself. A draw or a shared first place is half a win. Matches of one row have
different seeds; without mirrored pairs the first agent's seat rotates.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks import node_harness
from benchmarks.report_tables import aligned, describe_machine
from games import GAMES
from games.protocol import Json
from sandbox.match import match_record, referee
from sandbox.match.bundle_packing import prepare_bundle
from sandbox.match.clock import Clock
from sandbox.match.loans import borrow_seats
from sandbox.match.match_record import PlayedMatch
from sandbox.match.referee import EpisodeRequest
from sandbox.match.seeds import SEED_BYTES

AGENTS: Final = Path(__file__).parents[1] / "agents"
QUICK_GAMES: Final = 20
CHUNK: Final = 10
PROFILE: Final = "numpy"
BORROW_SECONDS: Final = 120.0
CONFIGURATIONS: Final[Mapping[str, Mapping[str, Json]]] = {
    "golad": {"width": 6, "height": 6, "startingCells": 10}
}


@dataclass(frozen=True)
class Known:
    """The expected figure for one column of a series' results."""

    what: str
    column: int
    value: float | None = None
    rule: Literal["equal", "at least"] = "equal"
    percent: bool = False


@dataclass(frozen=True)
class Series:
    """A series of matches of one kind, with its known figures."""

    game: str
    agents: tuple[str, ...]
    games: int
    known: tuple[Known, ...]

    @property
    def name(self) -> str:
        """The name of the series in progress messages."""
        return f"{self.game} {' v '.join(self.agents)}"


@dataclass(frozen=True)
class Arena:
    """A node, and the bundles by game and agent."""

    node: node_harness.Node
    bundles: Mapping[tuple[str, str], Path]


def snake(agent: str, games: int, *known: Known) -> Series:
    return Series("snake", (agent,), games, known)


def golad(agent: str, against: str, value: float, rule: Any = "equal", games: int = 2000) -> Series:
    figure = Known(f"GOLAD 6x6 {agent} v {against}", 0, value, rule, percent=True)
    return Series("golad", (agent, against), games, (figure,))


def battlesnake(agent: str, others: int, against: str, games: int) -> Series:
    """A series in which one agent must win more than an equal share; its seat rotates."""
    even = 1 / (1 + others)
    figure = Known(f"Battlesnake {agent} v {others} {against}", 0, even, "at least", percent=True)
    return Series("battlesnake", (agent, *(against,) * others), games, (figure,))


SERIES: Final = (
    snake("uniform", 2000, Known("Snake uniform, length", 0, 6.28)),
    snake("cycle", 2000, Known("Snake cycle, length", 0, 29.822)),
    snake("shortest_path", 500, Known("Snake shortest path, length", 0)),
    snake(
        "cycle_repair",
        2000,
        Known("Snake cycle repair, length", 0, 98.5, "at least"),
        Known("Snake cycle repair, wins", 1, 0.88, "at least", percent=True),
        Known("Snake cycle repair, steps of wins", 2),
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
    golad("search", "greedy", 0.5, "at least", games=400),
    battlesnake("grazer", 1, "safe_step", 200),
    battlesnake("painter", 1, "safe_step", 200),
    battlesnake("painter", 3, "safe_step", 100),
    battlesnake("painter", 1, "grazer", 200),
    battlesnake("searcher", 1, "grazer", 60),
    battlesnake("searcher", 1, "painter", 60),
    battlesnake("searcher", 3, "painter", 60),
    snake(
        "rollouts",
        500,
        Known("Snake rollouts, length", 0),
        Known("Snake rollouts, wins", 1, 0.975, "at least", percent=True),
        Known("Snake rollouts, steps of wins", 2),
    ),
)


def play(arena: Arena, series: Series, numbers: Sequence[int]) -> list[tuple[float | None, ...]]:
    """The results of these matches; each number is the seed of one match."""
    return [_match(arena, series, number) for number in numbers]


def _match(arena: Arena, series: Series, number: int) -> tuple[float | None, ...]:
    game: Any = GAMES[series.game]
    configuration = game.configure(dict(CONFIGURATIONS.get(series.game, {})))
    clock = Clock.from_json(game.clock)
    seats = len(series.agents)
    own_seat = 0 if game.mirrored else number % seats
    others = series.agents[1:]
    lineup = (*others[:own_seat], series.agents[0], *others[own_seat:])
    seed = f"{series.name} {number}".encode()[-SEED_BYTES:].rjust(SEED_BYTES)
    requests = [arena.node.request(arena.bundles[series.game, name]) for name in lineup]

    def episode(seated: tuple[int, ...]) -> PlayedMatch:
        asked = [requests[member] for member in seated]
        with borrow_seats(arena.node.socket, asked, BORROW_SECONDS) as lent:
            return referee.play_episode(
                EpisodeRequest(
                    game,
                    configuration,
                    clock,
                    seed,
                    lent,
                    max_parallel_seats=1,
                    stop_after_seconds=3600,
                )
            )

    report = (played := match_record.play_match(game, seats, episode)).seats[own_seat]
    for other in played.seats:
        if other.verdict.is_fault or other.pardoned:
            what = other.reason or dict(other.pardoned)
            raise SystemExit(f"{series.name}, match {number}: {other.verdict}, {what}")
    if (told := report.statistics) and series.game == "snake":
        return told["length"], told["won"], told["steps"] if told["won"] else None
    if game.mirrored:
        assert report.reward is not None
        return (report.reward / match_record.episodes_per_match(game),)
    first = sum(other.placement == 1 for other in played.seats)
    return (0.0 if report.placement > 1 else 1.0 if first == 1 else 0.5,)


def row(
    figure: Known, results: Sequence[tuple[float | None, ...]], games_each: int = 1
) -> tuple[str, ...]:
    """The columns: what, games, measured, 95 % interval, known, standard errors apart, met?"""
    samples = [value for result in results if (value := result[figure.column]) is not None]
    games = str(games_each * len(samples))
    if len(samples) < 2:
        return (figure.what, games, "-", "-", "-", "-", "-")
    mean = statistics.fmean(samples)
    error = statistics.stdev(samples) / math.sqrt(len(samples))

    def shown(value: float) -> str:
        return f"{100 * value:.1f} %" if figure.percent else f"{value:.2f}"

    cells = [figure.what, games, shown(mean)]
    cells.append(f"{shown(mean - 1.96 * error)} .. {shown(mean + 1.96 * error)}")
    if figure.value is None:
        return (*cells, "-", "-", "-")
    is_equal = figure.rule == "equal"
    if not error and is_equal and mean != figure.value:  # without a spread there is no distance
        return (*cells, shown(figure.value), "-", "-")
    apart = (mean - figure.value) / error if error else 0.0
    met = abs(apart) <= 3 if is_equal else mean >= figure.value
    known = shown(figure.value) if is_equal else f">= {shown(figure.value)}"
    return (*cells, known, f"{apart:+.1f}", "yes" if met else "NO")


def rows(arena: Arena, wanted: Sequence[Series], most: int, jobs: int) -> Iterator[tuple[str, ...]]:
    """All rows; prints each one at once because the whole table takes long."""
    with ProcessPoolExecutor(jobs) as pool:
        for series in wanted:
            began = time.monotonic()
            each = match_record.episodes_per_match(GAMES[series.game])
            count = min(series.games, most) // each
            chunks = [range(at, min(count, at + CHUNK)) for at in range(0, count, CHUNK)]
            found = pool.map(play, [arena] * len(chunks), [series] * len(chunks), chunks)
            results = list(chain.from_iterable(found))
            took = time.monotonic() - began
            print(f"{series.name}: {took:.0f} s", file=sys.stderr)
            for figure in series.known:
                cells = row(figure, results, each)
                print("  ".join(cells), file=sys.stderr, flush=True)
                yield cells


def pack_bundles(wanted: Sequence[Series], folder: Path) -> dict[tuple[str, str], Path]:
    """The bundles for these series, packed as for an upload."""
    found = {}
    for game, name in {(series.game, name) for series in wanted for name in series.agents}:
        home = folder / game / name
        home.mkdir(parents=True)
        found[game, name] = prepare_bundle(AGENTS / game / name, home)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Reference agents against known figures")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_GAMES} games of each kind")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="matches at a time")
    parser.add_argument("--games", type=int, default=10_000, help="at most this many of each kind")
    parser.add_argument("--only", nargs="*", default=[], help="games or agents")
    parser.add_argument("--launcher", default="bubblewrap", choices=node_harness.LAUNCHERS)
    options = parser.parse_args()
    wanted = [
        series
        for series in SERIES
        if not options.only or {series.game, series.agents[0]} & set(options.only)
    ]
    head = ("what", "games", "measured", "95 % interval", "known", "errors apart", "met?")
    lines: list[tuple[str, ...]] = [head]
    most = QUICK_GAMES if options.quick else options.games
    with (
        tempfile.TemporaryDirectory(prefix="peck-anchors-") as scratch,
        node_harness.running(options.launcher, PROFILE, "--warm", "0", memory_mb=512) as node,
    ):
        if isinstance(node, str):
            print(node, file=sys.stderr)
            return 1
        arena = Arena(node, pack_bundles(wanted, Path(scratch)))
        lines += rows(arena, wanted, most, options.jobs)
    print(f"Reference agents and known figures, by {options.launcher}; {describe_machine()}\n")
    print(aligned(lines))
    return any(line[-1] == "NO" for line in lines) and not options.quick


if __name__ == "__main__":
    sys.exit(main())
