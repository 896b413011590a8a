"""Checks that a fresh season finds the true order of the reference agents, in the real sandbox.

    python -m benchmarks season_order [--game NAME] [--rounds 2] [--seasons 3] [--matches 90]

First a long round robin gives the order: every lineup, every agent in every seat, with an official
fit and no pairing. Then fresh seasons start from nothing with our pairing and fit. After each few
matches the benchmark compares the board with the round robin's order. It counts the match after
which the board always has the right order.

Simulated seasons with the round robin's skills give the expected count. Pairs less than two
deviations apart in the round robin do not count.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks import node_harness, report_tables
from benchmarks.rating.official_ladder import BETA, START, Official
from benchmarks.rating.worlds import Flags, Floats, Ints, World
from estimates.intervals import half_width
from games import GAMES
from games.protocol import Json, placements_from_scores
from ladder.ratings.official.fit import Fit, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior
from sandbox.match import referee
from sandbox.match.bundle_packing import prepare_bundle
from sandbox.match.clock import Clock
from sandbox.match.loans import borrow_seats
from sandbox.match.referee import EpisodeRequest
from sandbox.match.seeds import SEED_BYTES

AGENTS: Final = Path(__file__).resolve().parent.parent / "agents"
BORROW_SECONDS: Final = 120.0
TOLD_APART: Final = 2.0
"""Pairs of the round robin count from this many deviations on."""
BATCH: Final = 3
"""Matches between two comparisons of the board."""
DRAWN_SEASONS: Final = 200
FIRST_SEED: Final = 4001
CONFIGURATIONS: Final[dict[str, dict[str, Json]]] = {
    "golad": {"width": 6, "height": 6, "startingCells": 10},
}

Play = Callable[[Ints, np.random.Generator], tuple[NDArray[np.int16], Flags]]


@dataclass
class Arena:
    """Plays lineups of agents, by their numbers, in real boxes."""

    game: Any
    configuration: dict[str, Json]
    bundles: Sequence[Path]
    node: node_harness.Node
    played: int = 0
    faults: dict[int, int] = field(default_factory=dict)

    def play(self, lineups: Ints, rng: np.random.Generator) -> tuple[NDArray[np.int16], Flags]:
        """Placements and faults by seat."""
        found = [self._match(lineup, rng.bytes(SEED_BYTES)) for lineup in lineups]
        ranks = np.array([ranks for ranks, _ in found], dtype=np.int16)
        return ranks, np.array([faults for _, faults in found], dtype=bool)

    def _match(self, lineup: Ints, seed: bytes) -> tuple[list[int], list[bool]]:
        seats = len(lineup)
        paid, faults = np.zeros(seats), [False] * seats
        placements: Sequence[int] = ()
        turns = ((0, 1), (1, 0)) if self.game.mirrored else (tuple(range(seats)),)
        for turn in turns:
            requests = [self.node.request(self.bundles[lineup[seat]]) for seat in turn]
            clock = Clock.from_json(self.game.clock)
            with borrow_seats(self.node.socket, requests, BORROW_SECONDS) as loans:
                result = referee.play_episode(
                    EpisodeRequest(
                        self.game,
                        self.configuration,
                        clock,
                        seed,
                        loans,
                        max_parallel_seats=1,
                        stop_after_seconds=3600,
                    )
                )
            for place, seat in enumerate(turn):
                report = result.seats[place]
                paid[seat] += report.reward or 0.0
                faults[seat] |= report.verdict.is_fault
            placements = [report.placement for report in result.seats]
        self.played += 1
        for seat, failed in enumerate(faults):
            if failed:
                self.faults[int(lineup[seat])] = self.faults.get(int(lineup[seat]), 0) + 1
        ranks = placements_from_scores(paid.tolist()) if self.game.mirrored else placements
        return list(ranks), faults


def round_robin(count: int, seats: int, rounds: int) -> Ints:
    """Every lineup ``rounds`` times; the agents rotate by a seat each time."""
    lineups = [
        [*lineup[turn % seats :], *lineup[: turn % seats]]
        for turn in range(rounds)
        for lineup in itertools.combinations(range(count), seats)
    ]
    return np.array(lineups, dtype=np.int32)


def clear_pairs(known: Fit) -> list[tuple[int, int]]:
    """Pairs (better, worse) that the round robin separates."""
    order = np.argsort(-known.mu)
    return [
        (int(one), int(other))
        for one, other in itertools.combinations(order, 2)
        if known.mu[one] - known.mu[other]
        > TOLD_APART * np.hypot(known.sigma[one], known.sigma[other])
    ]


def matches_until_ordered(
    count: int, seats: int, matches: int, play: Play, pairs: Sequence[tuple[int, int]], seed: int
) -> int | None:
    """The match after which the board always has all pairs in their order; None: never."""
    ladder = Official(seats, weight=0.0)
    rng = np.random.default_rng([seed, 3])
    active = np.arange(count, dtype=np.int32)
    ladder.enter(np.full(count, -1, dtype=np.int32))
    since: int | None = None
    done = 0
    while done < matches:
        lineups = ladder.lineups(active, min(BATCH, matches - done), rng)
        ladder.learn(lineups, *play(lineups, rng))
        done += len(lineups)
        scores = ladder.view(active).order
        if all(scores[better] > scores[worse] for better, worse in pairs):
            since = since or done
        else:
            since = None
    return since


def world_of(known: Fit, seats: int) -> World:
    """A world with the round robin's skills and simulated results."""
    count = len(known.mu)
    skill: Floats = np.asarray(known.mu, dtype=np.float64)
    return World(seats, 0.0, skill, np.zeros(count), np.zeros((count, 2)))


def main() -> int:
    """Print the order, the expected count of a season, and the counts of real seasons."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks season_order")
    parser.add_argument("--game", default="hungry_geese", choices=sorted(GAMES))
    parser.add_argument("--agents", nargs="*", help="folders of agents/GAME; all when left out")
    parser.add_argument("--seats", type=int, help="4 when left out, or as many as the game has")
    parser.add_argument("--rounds", type=int, default=4, help="of the round robin")
    parser.add_argument("--seasons", type=int, default=3)
    parser.add_argument("--matches", type=int, default=90, help="of each season")
    parser.add_argument("--launcher", default="bubblewrap", choices=("bubblewrap", "docker"))
    options = parser.parse_args()
    game: Any = GAMES[options.game]
    folder = AGENTS / game.name
    names = options.agents or sorted(path.name for path in folder.iterdir() if path.is_dir())
    names = [name for name in names if not name.startswith("_")]
    seats = options.seats or min(4, game.seats.stop - 1)
    if seats < 2 or len(names) < seats:
        parser.error(f"{game.title}: {len(names)} agents do not fill {seats} seats against others")
    with tempfile.TemporaryDirectory(prefix="peck-order-") as scratch:
        bundles = []
        for name in names:
            (Path(scratch) / name).mkdir()
            bundles.append(prepare_bundle(folder / name, Path(scratch) / name))
        with node_harness.running(options.launcher, "numpy", "--warm", "0", memory_mb=512) as node:
            if isinstance(node, str):
                print(node, file=sys.stderr)
                return 1
            configuration = game.configure(CONFIGURATIONS.get(game.name, {}))
            arena = Arena(game, configuration, bundles, node)
            return report(arena, names, seats, options)


def report(arena: Arena, names: Sequence[str], seats: int, options: argparse.Namespace) -> int:
    count = len(names)
    rng = np.random.default_rng(FIRST_SEED)
    started = time.monotonic()
    lineups = round_robin(count, seats, options.rounds)
    ranks, faults = arena.play(lineups, rng)
    known = fit(GameTable(lineups, ranks, faults), Prior.unknown(count))
    print(report_tables.describe_machine())
    print(
        f"{arena.game.title}, {arena.node.launcher}: round robin of {len(lineups)} matches, "
        f"{time.monotonic() - started:.0f} s"
    )
    points = START + BETA * (known.mu - known.mu.mean())
    rows = [("agent", "score", "+-", "games", "faults")]
    for who in np.argsort(-known.mu):
        rows.append(
            (
                names[who],
                f"{points[who]:.0f}",
                f"{half_width(BETA * known.sigma[who]):.0f}",
                str(int((lineups == who).sum())),
                str(arena.faults.get(int(who), 0)),
            )
        )
    print(report_tables.aligned(rows))
    pairs = clear_pairs(known)
    of = count * (count - 1) // 2
    print(f"clearly ordered: {len(pairs)} of {of} pairs; kappa {known.kappa:.2f}\n")
    world = world_of(known, seats)
    drawn = [
        matches_until_ordered(count, seats, options.matches, world.play, pairs, FIRST_SEED + number)
        for number in range(DRAWN_SEASONS)
    ]
    late = sorted(found if found is not None else options.matches + 1 for found in drawn)
    print(
        f"expected: the right order for good from match {report_tables.quantile(late, 0.5)} on "
        f"(nine of ten seasons by {report_tables.quantile(late, 0.9)}; "
        f"{sum(found is None for found in drawn)} of {len(drawn)} not within {options.matches})"
    )
    for number in range(options.seasons):
        found = matches_until_ordered(
            count, seats, options.matches, arena.play, pairs, FIRST_SEED + number
        )
        told = f"from match {found} on" if found is not None else f"not within {options.matches}"
        print(f"real season {number + 1}: {told}", flush=True)
    print(f"{arena.played} matches in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
