"""Measures what equal seeds save in comparisons of real agents: ``python -m benchmarks
comparison_draws``.

Both versions play the same seeds, seats and opponents. The peer in the same run takes the same
games, but the games of different pairs: other seeds, seats and opponents. It prints the variance of
the difference, and the pairs that a verdict takes, from pairs that are drawn again and again. At
last it times `peck better` from command to verdict.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.comparisons import our_ends
from benchmarks.report_tables import aligned, describe_machine
from estimates.comparison import Rule, default_pairs
from estimates.comparison_report import share_beaten
from sandbox.match import local_match
from sandbox.settings import LauncherName
from services.cli.local_comparison import LocalComparison, compare
from services.cli.local_node import node_socket
from services.cli.local_plan import GameOptions, make_plan

Array = npt.NDArray[np.float64]
AGENTS = Path(__file__).resolve().parents[1] / "agents"
MARGIN = 0.1
REPEATS = 200
CASES = (
    ("hungry_geese", "greedy", "survivor", ("greedy", "survivor", "random_legal")),
    ("battlesnake", "safe_step", "grazer", ("grazer", "safe_step", "painter")),
)
"""Game, old version, new version, opponents."""
HEAD = ("game", "old", "new", "draws", "pairs played", "difference", "variance", "pairs needed")


def play(case: tuple[str, str, str, tuple[str, ...]], pairs: int) -> tuple[Array, Array]:
    """The old and the new version's scores, with the shape (pairs,)."""
    game, old, new, opponents = case
    paths = [AGENTS / game / name for name in (old, new, *opponents)]
    options = GameOptions(game, seats=4)
    plan = make_plan(options, paths, games=2 * pairs, seed=bytes(16))
    with tempfile.TemporaryDirectory() as scratch:
        # So small a margin is not decided by so few pairs.
        rule = Rule(margin=0.01, most_pairs=pairs)
        comparison = LocalComparison(plan, rule, options.seats, Path(scratch) / "out")
        bundles = local_match.prepare_bundles(plan, Path(scratch))
        with node_socket(plan, LauncherName.AUTO, Path(scratch), None) as socket:
            played = compare(comparison, bundles, socket, lambda picture: None)
    scores = [
        [share_beaten(one.placements, pair.seat) for one in (pair.old, pair.new)]
        for pair in played.pairs
    ]
    both = np.asarray(scores, dtype=np.float64)
    return both[:, 0], both[:, 1]


def pairs_needed(differences: Array, draw: np.random.Generator) -> float:
    """Mean pairs until the verdict, over comparisons of pairs drawn from these differences."""
    drawn = draw.choice(differences, (REPEATS, default_pairs(MARGIN)))
    return float(our_ends(drawn, MARGIN).pairs.mean())


def rows(case: tuple[str, str, str, tuple[str, ...]], pairs: int) -> list[tuple[str, ...]]:
    """The lines of one case, with and without equal draws."""
    old, new = play(case, pairs)
    draw = np.random.default_rng(1)
    other = (new[:, None] - old[None, :])[~np.eye(len(old), dtype=bool)]
    lines: list[tuple[str, ...]] = []
    for name, differences in (("equal", new - old), ("different", other)):
        lines.append(
            (
                *case[:3],
                name,
                str(len(old)),
                f"{differences.mean():+.3f}",
                f"{differences.var():.3f}",
                f"{pairs_needed(differences, draw):.0f}",
            )
        )
    return lines


def from_command_to_verdict(case: tuple[str, str, str, tuple[str, ...]]) -> str:
    """Runs ``peck better`` as a person does. Says how long it took, and the share of play."""
    game, old, new, opponents = case
    versions = [str(AGENTS / game / name) for name in (old, new)]
    others = [word for name in opponents for word in ("--opponent", str(AGENTS / game / name))]
    with tempfile.TemporaryDirectory() as out:
        began = time.monotonic()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "services.cli", "better", *versions, "--game", game),
                *(*others, "--seats", "4", "--seed", "1", "--out", out, "--json"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
    if not done.stdout:
        return f"{game}: no answer: {done.stderr}"
    report = json.loads(done.stdout)
    return (
        f"peck better, {game}, {old} to {new}: {report['verdict']} after {report['pairs']} pairs,"
        f" {seconds:.1f} s from command to verdict,"
        f" {report['playing_seconds'] / seconds:.0%} of it playing"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=100, help="played of each case")
    chosen = options.parse_args()
    print(f"Equal draws, 4 seats, margin {MARGIN:g}: {describe_machine()}\n", flush=True)
    lines: list[Sequence[str]] = [HEAD]
    for case in CASES:
        lines += rows(case, chosen.pairs)
    print(aligned(lines), flush=True)
    print()
    for case in CASES:
        print(from_command_to_verdict(case), flush=True)


if __name__ == "__main__":
    main()
