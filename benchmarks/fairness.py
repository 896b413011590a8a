"""What is charged for the same work on a quiet and on a busy machine, through node and referee.

    python -m benchmarks.fairness [--launcher NAME ...] [--moves 2000] [--drop-caches]

Four agents that need 10 ms of processor time a move (counted by the agent itself, thread time) are
asked one after another, alone and beside processes of equal weight that never rest. Then the same
agents play under a limit of 25 ms without a bank beside four such processes: every time-out is a
false one.

Last, the first move of an agent with 99 MiB of weights is charged with its import on a
node that has just started, on the same box again, and on a box that has not seen it.

``--drop-caches`` empties the machine's page cache before that node starts (root; slows whatever
else runs here); without it the node is new and the files may be in memory.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import subprocess
import sys
import tarfile
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
)
from benchmarks.report_tables import aligned, machine, quantile
from games import GAMES
from games.protocol import Verdict
from sandbox.errors import HostFault
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan
from sandbox.match.match_record import read_log
from sandbox.match.seat_loans import borrow_seats

WORK_SECONDS = 0.010
HOGS = (0, 2, 4)
LIMIT_SECONDS = 0.025
STEPS = 199
MOST_VOID = 20
DEAREST = 8
_REPORTED = Path("/sys/module/page_reporting/parameters/reported_kib")
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
    """Per-move records of a seat's log, of many seats, and how many ran out of time."""

    records: list[dict[str, Any]]
    late: int = 0
    void: int = 0
    """Matches that the node could not begin or end."""

    def column(self, name: str) -> list[float]:
        """Milliseconds of every move."""
        return [1e3 * (record[name] or 0.0) for record in self.records]


def main() -> None:
    """Measure what this machine has and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairness", description=__doc__)
    parser.add_argument("--launcher", action="append", choices=LAUNCHERS)
    parser.add_argument("--moves", type=int, default=2000, help="moves under the strict limit")
    parser.add_argument("--each", type=int, default=400, help="moves beside each number of hogs")
    parser.add_argument("--loads", type=int, default=5, help="first moves of each kind")
    parser.add_argument("--state-dir", type=Path, default=STATE, help="libraries of profiles")
    parser.add_argument("--drop-caches", action="store_true", help="empty the page cache first")
    options = parser.parse_args()
    for launcher in options.launcher or LAUNCHERS:
        with tempfile.TemporaryDirectory(prefix="peck-bench-") as made:
            print(f"\n{launcher}: {machine()}", flush=True)
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
    for number in HOGS:
        with hogs(number):
            moves = played(node, bundles, UNHURRIED, count)
        title = "quiet" if not number else f"{number} hogs"
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
    with hogs(max(HOGS)):
        moves = played(node, bundles, STRICT, count)
    charged, wall = moves.column("charged_seconds"), moves.column("wall_seconds")
    over = sum(1 for one in wall if one > 1e3 * LIMIT_SECONDS)
    head = ("limit 25 ms, no bank, 4 hogs", "moves", "false time-outs", "charged p99", "max")
    line = (
        f"{time.monotonic() - began:.0f} s",
        str(len(moves.records)),
        str(moves.late),
        f"{quantile(charged, 0.99):.1f} ms",
        f"{max(charged):.1f} ms",
        f"{over} ({over / len(wall):.0%})",
        str(moves.void),
    )
    table = aligned([(*head, "over it by wall alone", "void matches"), line])
    return "\n" + table + "\n" + _dearest(moves)


def _dearest(moves: Moves) -> str:
    """The moves nearest to the limit, part by part: what a false time-out is made of."""
    head = ("dearest moves, ms", "wall", "cpu", "forgiven", "charged")
    names = ("wall_seconds", "cpu_seconds", "pressure_seconds", "charged_seconds")
    found = sorted(moves.records, key=lambda record: -float(record["charged_seconds"]))[:DEAREST]
    lines = [
        (f"step {record['step']}", *(f"{1e3 * (record[name] or 0.0):.1f}" for name in names))
        for record in found
    ]
    return aligned([head, *lines])


def played(node: Node, bundles: Sequence[Path], clock: Clock, count: int) -> Moves:
    """At least ``count`` moves of these agents, in matches one after another, one lane."""
    moves = Moves([])
    while len(moves.records) < count:
        left = -(-(count - len(moves.records)) // SEATS)
        configuration = {**CONFIGURATION, "episodeSteps": min(STEPS, max(2, left)) + 1}
        requests = [node.request(bundle) for bundle in bundles]
        try:
            with borrow_seats(node.socket, requests, BORROW_SECONDS) as loans:
                match = referee.play_episode(
                    GEESE,
                    configuration,
                    clock,
                    SEED,
                    loans,
                    max_parallel_seats=1,
                    stop_after_seconds=3600.0,
                    waiting_seconds=3600.0,
                )
        except HostFault:
            # The node's fault is nobody's time-out: the match is played again, as on the ladder.
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
def hogs(count: int) -> Iterator[None]:
    """That many processes that never rest, of the weight every process has."""
    command = [sys.executable, "-I", "-S", "-c", "while True: pass"]
    running_hogs = [subprocess.Popen(command) for _ in range(count)]
    try:
        time.sleep(0.3 if count else 0.0)
        yield
    finally:
        for hog in running_hogs:
            hog.kill()
            hog.wait()


def _first_moves(launcher: str, folder: Path, options: argparse.Namespace) -> str:
    """Charges of the first move, import included, where its bundle and libraries lay elsewhere."""
    before_kib = _reported_kib()
    bundles = [_heavy(folder / f"heavy{number}.tar.gz") for number in range(options.loads)]
    cold, warm, other = list[float](), list[float](), list[float]()
    for bundle in bundles:
        if options.drop_caches:
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("1")
        with running(
            launcher, "numpy", "--warm", "1", state=options.state_dir, memory_mb=MEMORY_MB
        ) as node:
            assert not isinstance(node, str), node
            cold.append(_first_move(node, bundle))
            again = [_first_move(node, bundle) for _ in range(3)]
            warm.append(statistics.median(again))
            resource_usage.settle(node)
            other.append(_first_move(node, _heavy(folder / "other.tar.gz")))
    head = (f"first move, {WEIGHTS_MIB} MiB read", "charged ms", "least", "most", "of warm", "met?")
    lines: list[tuple[str, ...]] = [head]
    emptied = ", page cache emptied" if options.drop_caches else ""
    for title, values in (
        (f"cold node{emptied}", cold),
        ("warm node, the same box again", warm),
        ("other box, as validation finds it", other),
    ):
        # Each round by itself: how fast the machine copies memory changes with its neighbours.
        ratio = statistics.median(one / base for one, base in zip(values, warm, strict=True))
        met = "yes" if abs(ratio - 1) <= 0.10 else "NO"
        middle = statistics.median(values)
        shown = [f"{1e3 * one:.0f}" for one in (middle, min(values), max(values))]
        lines.append((title, *shown, f"x{ratio:.2f}", met))
    return f"\n{aligned(lines)}{_given_back(before_kib)}"


def _reported_kib() -> int:
    try:
        return int(_REPORTED.read_text())
    except OSError:
        return 0


def _given_back(before_kib: int) -> str:
    """Memory that was given to the hypervisor is dear to touch again: that is in the figures."""
    given_mib = (_reported_kib() - before_kib) >> 10
    return (
        f"\ngiven back to the hypervisor meanwhile, as free: {given_mib} MiB" if given_mib else ""
    )


def _first_move(node: Node, bundle: Path) -> float:
    """Seconds charged for the first move, in which the agent is loaded."""
    with borrow_seats(node.socket, [node.request(bundle)], BORROW_SECONDS) as (loan,):
        assert isinstance(loan, Loan), loan
        with contextlib.closing(Table([loan], Clock(act_seconds=60.0))) as table:
            table.start()
            table.step(_SEEN)
            return table.seats[0].record.answers[0].cost.charged_seconds


_SEEN = observation()


def _heavy(path: Path) -> Path:
    """A bundle with weights that do not compress, different each time."""
    weights = os.urandom(WEIGHTS_MIB << 20)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in (("main.py", HEAVY.encode()), ("weights.bin", weights)):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return path


if __name__ == "__main__":
    main()
