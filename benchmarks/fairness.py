"""Compares the charge for the same work on a quiet and on a busy machine, in real matches.

    python -m benchmarks.fairness [--launcher NAME ...] [--moves 2000]

Four agents need 10 ms of processor time a move, by their own thread clock. They answer one after
another, first alone and then beside busy processes of equal weight. The same agents then play under
a limit of 25 ms without a bank, beside four busy processes. Each time-out in that run is a false
one.

The last test charges the first move, with its import, of an agent with 99 MiB of weights. It runs
on a new node, on the same box again, and on a new box.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import resource_usage
from benchmarks.node_harness import (
    BORROW_SECONDS,
    LAUNCHERS,
    SEATS,
    SEED,
    STATE,
    Node,
    Table,
    observation,
    running,
    write_agents,
    write_large_bundle,
)
from benchmarks.report_tables import aligned, describe_machine, quantile
from games import GAMES
from games.protocol import Verdict
from sandbox.errors import HostFault
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan, borrow_seats
from sandbox.match.match_record import read_log
from sandbox.match.referee import EpisodeRequest

WORK_SECONDS = 0.010
BUSY_PROCESSES = (0, 2, 4)
LIMIT_SECONDS = 0.025
STEPS = 199
MOST_VOID = 20
WEIGHTS_MIB = 99
MEMORY_MB = 1024
GEESE = GAMES["hungry_geese"]
CONFIGURATION = GEESE.configure({"episodeSteps": STEPS + 1, "hunger_rate": 1000, "rows": 30})
UNHURRIED = Clock(act_seconds=60.0, load="own")
STRICT = Clock(act_seconds=LIMIT_SECONDS, bank_seconds=0.0, load="own")
WORKER = f"""\
import time


def agent(observation, configuration):
    end = time.thread_time() + {WORK_SECONDS}
    while time.thread_time() < end:
        pass
    return 'EAST'
"""
HEAVY = """\
import os

import numpy
import numpy.ma
import numpy.polynomial

with open(os.path.join('/kaggle_simulations/agent', 'weights.bin'), 'rb') as file:
    WEIGHTS = numpy.frombuffer(file.read(), numpy.uint8)


def agent(observation, configuration):
    return 'EAST' if len(WEIGHTS) else 'WEST'
"""


@dataclass
class Moves:
    """The move records of many seats, and the number of time-outs."""

    records: list[dict[str, Any]]
    late: int = 0
    void: int = 0
    """Matches that the node could not begin or end."""

    def column(self, name: str) -> list[float]:
        """One column of all moves, in milliseconds."""
        return [1e3 * (record[name] or 0.0) for record in self.records]


def main() -> None:
    """Measure all launchers of this machine and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairness", description=__doc__)
    parser.add_argument("--launcher", action="append", choices=LAUNCHERS)
    parser.add_argument("--moves", type=int, default=2000, help="moves under the strict limit")
    parser.add_argument(
        "--each", type=int, default=400, help="moves beside each number of busy processes"
    )
    parser.add_argument("--loads", type=int, default=5, help="first moves of each kind")
    parser.add_argument("--state-dir", type=Path, default=STATE, help="libraries of profiles")
    options = parser.parse_args()
    for launcher in options.launcher or LAUNCHERS:
        with tempfile.TemporaryDirectory(prefix="peck-bench-") as made:
            print(f"\n{launcher}: {describe_machine()}", flush=True)
            folder = Path(made)
            with running(launcher, "numpy", "--warm", "4", state=options.state_dir) as node:
                if isinstance(node, str):
                    print(node)
                    continue
                bundles = write_agents(folder, WORKER)
                print(_charges(node, bundles, options.each), flush=True)
                print(_false_time_outs(node, bundles, options.moves), flush=True)
            print(_first_moves(launcher, folder, options), flush=True)


def _charges(node: Node, bundles: Sequence[Path], count: int) -> str:
    head = ("10 ms of work", "ms", "median", "p90", "p99", "max", "median of quiet")
    lines: list[tuple[str, ...]] = [head]
    quiet: dict[str, float] = {}
    for number in BUSY_PROCESSES:
        with busy_processes(number):
            moves = play_moves(node, bundles, UNHURRIED, count)
        title = "quiet" if not number else f"{number} busy processes"
        for name in ("wall", "cpu", "pressure", "charged"):
            values = moves.column(f"{name}_seconds")
            middle = statistics.median(values)
            base = quiet.setdefault(name, middle)
            ratio = "-" if base < 1 else f"x{middle / base:.2f}"
            shown = [f"{quantile(values, share):.1f}" for share in (0.5, 0.9, 0.99, 1.0)]
            lines.append((title, name, *shown, ratio))
    return aligned(lines)


def _false_time_outs(node: Node, bundles: Sequence[Path], count: int) -> str:
    began = time.monotonic()
    with busy_processes(max(BUSY_PROCESSES)):
        moves = play_moves(node, bundles, STRICT, count)
    charged, wall = moves.column("charged_seconds"), moves.column("wall_seconds")
    over = sum(1 for one in wall if one > 1e3 * LIMIT_SECONDS)
    head = (
        "limit 25 ms, no bank, 4 busy processes",
        "moves",
        "false time-outs",
        "charged p99",
        "max",
    )
    line = (
        f"{time.monotonic() - began:.0f} s",
        str(len(moves.records)),
        str(moves.late),
        f"{quantile(charged, 0.99):.1f} ms",
        f"{max(charged):.1f} ms",
        f"{over} ({over / len(wall):.0%})",
        str(moves.void),
    )
    return "\n" + aligned([(*head, "over it in wall time alone", "void matches"), line])


def play_moves(node: Node, bundles: Sequence[Path], clock: Clock, count: int) -> Moves:
    """At least ``count`` moves of these agents, in matches one after another."""
    moves = Moves([])
    while len(moves.records) < count:
        left = -(-(count - len(moves.records)) // SEATS)
        configuration = {**CONFIGURATION, "episodeSteps": min(STEPS, max(2, left)) + 1}
        requests = [node.request(bundle) for bundle in bundles]
        try:
            with borrow_seats(node.socket, requests, BORROW_SECONDS) as loans:
                match = referee.play_episode(
                    EpisodeRequest(
                        GEESE,
                        configuration,
                        clock,
                        SEED,
                        loans,
                        max_parallel_seats=1,
                        stop_after_seconds=3600.0,
                        waiting_seconds=3600.0,
                    )
                )
        except HostFault:
            # As on the ladder, a match with a fault of the node is played again.
            moves.void += 1
            if moves.void > MOST_VOID:
                raise
            time.sleep(1.0)
            continue
        for seat in match.seats:
            if seat.verdict not in (Verdict.DONE, Verdict.TIMEOUT):
                raise SystemExit(f"an agent failed: {seat.reason}")
            moves.late += seat.verdict is Verdict.TIMEOUT
            moves.records += [one for one in read_log(seat.log)["moves"] if one["step"]]
    return moves


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Runs that many busy processes of normal weight."""
    command = [sys.executable, "-I", "-S", "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(count)]
    try:
        time.sleep(0.3 if count else 0.0)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def _first_moves(launcher: str, folder: Path, options: argparse.Namespace) -> str:
    """Charges of the first move, with its import, for cold and for warm files."""
    bundles = [
        write_large_bundle(folder / f"heavy{number}.tar.gz", HEAVY, WEIGHTS_MIB)
        for number in range(options.loads)
    ]
    cold, warm, other = list[float](), list[float](), list[float]()
    for bundle in bundles:
        with running(
            launcher, "numpy", "--warm", "1", state=options.state_dir, memory_mb=MEMORY_MB
        ) as node:
            assert not isinstance(node, str), node
            cold.append(_first_move(node, bundle))
            again = [_first_move(node, bundle) for _ in range(3)]
            warm.append(statistics.median(again))
            resource_usage.wait_until_idle(node)
            other.append(_first_move(node, _heavy(folder / "other.tar.gz")))
    head = (f"first move, {WEIGHTS_MIB} MiB read", "charged ms", "least", "most", "of warm", "met?")
    lines: list[tuple[str, ...]] = [head]
    for title, values in (
        ("cold node", cold),
        ("warm node, the same box again", warm),
        ("other box, as validation finds it", other),
    ):
        # The ratio is per round, because neighbours change the machine's copy speed.
        ratio = statistics.median(one / base for one, base in zip(values, warm, strict=True))
        met = "yes" if abs(ratio - 1) <= 0.10 else "NO"
        middle = statistics.median(values)
        shown = [f"{1e3 * one:.0f}" for one in (middle, min(values), max(values))]
        lines.append((title, *shown, f"x{ratio:.2f}", met))
    return f"\n{aligned(lines)}"


def _heavy(path: Path) -> Path:
    return write_large_bundle(path, HEAVY, WEIGHTS_MIB)


def _first_move(node: Node, bundle: Path) -> float:
    """The charge in seconds for the first move, which loads the agent."""
    with borrow_seats(node.socket, [node.request(bundle)], BORROW_SECONDS) as (loan,):
        assert isinstance(loan, Loan), loan
        with contextlib.closing(Table([loan], Clock(act_seconds=60.0))) as table:
            table.start()
            table.step(_SEEN)
            return table.seats[0].record.answers[0].cost.charged_seconds


_SEEN = observation()


if __name__ == "__main__":
    main()
