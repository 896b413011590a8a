"""Measures a box under each runtime of the engine, in one run: ``python -m benchmarks.runtimes``.

``[--runtime NAME ...] [--profile NAME ...] [--matches 20] [--moves 200]``; the default is ``runc``,
gVisor if the engine has it, and profiles ``python`` and ``numpy``.

Moves run without a pause through a worker's descriptor, without a referee. A start is from the
loan's request to ready, on a box bound to the bundle. One start follows a pause. The other directly
follows a match, while the next child is still being forked. An end lasts until the box is swept and
proven clean.
"""

from __future__ import annotations

import argparse
import json
import select
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.node_harness import TRIVIAL, Node, running
from benchmarks.report_tables import describe_machine, quantile
from sandbox.launchers import docker, docker_engine
from sandbox.match import loans

START = {"k": "start", "configuration": {"rows": 7}, "seed": "00" * 16, "load": "own"}
PAUSE_SECONDS = 0.2
"""Longer than the fork of any runtime."""


@dataclass
class Measured:
    """One row; all values in seconds."""

    runtime: str
    profile: str
    moves: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    """Starts on a bound box whose child waits."""
    starts_at_once: list[float] = field(default_factory=list)
    """Starts directly after another match."""
    ends: list[float] = field(default_factory=list)
    boxes: list[float] = field(default_factory=list)
    """Starts that must first start a box."""


def measure(runtime: str, profile: str, bundle: Path, matches: int, moves: int) -> Measured | str:
    """Play one-seat matches on one box, and some on new boxes; returns a reason if impossible."""
    row = Measured(runtime, profile)
    options = ("--runtime", runtime, "--warm", "0")
    with running("docker", profile, *options) as node:
        if isinstance(node, str):
            return node
        for _ in range(3):  # the first match starts the box
            _match(node, bundle, Measured(runtime, profile), moves)
        for _ in range(matches):
            time.sleep(PAUSE_SECONDS)
            _match(node, bundle, row, moves)
            at_once = Measured(runtime, profile)
            _match(node, bundle, at_once, 1)
            row.starts_at_once += at_once.starts
    with running("docker", profile, *options, "--keep", "0") as node:
        if isinstance(node, str):
            return node
        cold = Measured(runtime, profile)
        for _ in range(6):
            _match(node, bundle, cold, 1)
        row.boxes = cold.starts[1:]
    return row


def _match(node: Node, bundle: Path, row: Measured, moves: int) -> None:
    began = time.perf_counter()
    with loans.borrow(node.socket, node.request(bundle), 60) as loan:
        _ask(loan, START)
        row.starts.append(time.perf_counter() - began)
        for number in range(moves):
            at = time.perf_counter()
            _ask(loan, {"k": "act", "n": number, "observation": {"step": number}})
            row.moves.append(time.perf_counter() - at)
        ending_at = time.perf_counter()
        if not loan.end().clean:
            raise SystemExit(f"{row.runtime}: a box was not proven clean")
        row.ends.append(time.perf_counter() - ending_at)


def _ask(loan: loans.Loan, message: Mapping[str, object]) -> None:
    loan.socket.send(json.dumps(message).encode())
    select.select([loan.socket], [], [], 30)
    answer = json.loads(loan.socket.recv(1 << 15))
    if answer["k"] not in ("ready", "reply"):
        raise SystemExit(f"unexpected answer: {answer}")


def table(rows: list[Measured]) -> str:
    """The table in Markdown: medians, and in brackets the best tenth.

    Neighbours on the machine disturb the best tenth least.
    """
    lines = [
        "| runtime | profile | move µs | start ms | start at once ms | end ms | box's start ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        move = _cell([1000 * seconds for seconds in row.moves], 0)
        milliseconds = [_cell(row.starts, 1), _cell(row.starts_at_once, 1), _cell(row.ends, 1)]
        cells = (row.runtime, row.profile, move, *milliseconds, _cell(row.boxes, 0))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(seconds: list[float], digits: int) -> str:
    median, best = statistics.median(seconds) * 1000, quantile(seconds, 0.1) * 1000
    return f"{median:.{digits}f} ({best:.{digits}f})"


def main() -> None:
    """Measure all runtimes of the engine and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runtimes", description=__doc__)
    parser.add_argument("--runtime", action="append")
    parser.add_argument("--profile", action="append", choices=("python", "numpy"))
    parser.add_argument("--matches", type=int, default=20)
    parser.add_argument("--moves", type=int, default=200)
    options = parser.parse_args()
    known = docker.describe_engine().get("Runtimes") or {}
    rows = []
    with tempfile.TemporaryDirectory(prefix="peck-bench-") as folder:
        bundle = Path(folder, "main.py")
        bundle.write_text(TRIVIAL)
        for runtime in options.runtime or ("runc", docker_engine.GVISOR):
            if runtime not in known:
                print(f"{runtime}: the engine does not know it", file=sys.stderr)
                continue
            for profile in options.profile or ("python", "numpy"):
                row = measure(runtime, profile, bundle, options.matches, options.moves)
                if isinstance(row, str):
                    print(f"{runtime}, {profile}: {row}", file=sys.stderr)
                else:
                    rows.append(row)
    print(describe_machine())
    print(table(rows))


if __name__ == "__main__":
    main()
