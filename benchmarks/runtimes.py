"""What a box costs under each runtime of the engine, in one run: ``python -m benchmarks.runtimes``.

``[--runtime NAME ...] [--profile NAME ...] [--matches 20] [--moves 200]``; by default ``runc`` and
gVisor where the engine knows it, profiles ``python`` and ``numpy``. Moves go back to back through
the descriptor that a worker has, without a referee; a start is from the loan's request to ready, on
a box that is bound to the bundle; an end is until the box is swept and proven.
"""

from __future__ import annotations

import argparse
import json
import select
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.sandbox import running
from sandbox import containers, loans, runtimes
from sandbox.loans import SeatRequest

SOURCE = "def agent(observation, configuration):\n    return 'EAST'\n"
START = {"k": "start", "configuration": {"rows": 7}, "seed": "00" * 16, "load": "own"}
MEMORY_MB = 256


@dataclass
class Measured:
    """One row; all in seconds."""

    runtime: str
    profile: str
    moves: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    """On a box bound to the bundle, whose child waits."""
    ends: list[float] = field(default_factory=list)
    boxes: list[float] = field(default_factory=list)
    """The same start where a box must be started first."""


def measure(runtime: str, profile: str, bundle: Path, matches: int, moves: int) -> Measured | None:
    """Matches of one seat on one box, and a few on boxes of their own; None without such a node."""
    row = Measured(runtime, profile)
    options = ("--profile", profile, "--runtime", runtime, "--warm", "0")
    with running("docker", *options) as socket:
        if socket is None:
            return None
        for _ in range(3):  # the first starts the box
            _match(socket, profile, bundle, Measured(runtime, profile), moves)
        for _ in range(matches):
            _match(socket, profile, bundle, row, moves)
    with running("docker", *options, "--keep", "0") as socket:
        assert socket is not None
        cold = Measured(runtime, profile)
        for _ in range(6):
            _match(socket, profile, bundle, cold, 1)
        row.boxes = cold.starts[1:]
    return row


def _match(socket: Path, profile: str, bundle: Path, row: Measured, moves: int) -> None:
    began = time.perf_counter()
    with loans.borrow(socket, SeatRequest(profile, bundle, MEMORY_MB, "bench"), 60) as loan:
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


def _ask(loan: loans.Loan, message: dict[str, object]) -> None:
    loan.socket.send(json.dumps(message).encode())
    select.select([loan.socket], [], [], 30)
    answer = json.loads(loan.socket.recv(1 << 15))
    if answer["k"] not in ("ready", "reply"):
        raise SystemExit(f"not the answer that was to be measured: {answer}")


def table(rows: list[Measured]) -> str:
    """Medians, with the 99th of a hundred moves, for a page in Markdown."""
    lines = [
        "| runtime | profile | a move µs (p99) | a start ms | an end ms | a box's start ms |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        late = sorted(row.moves)[int(len(row.moves) * 0.99)] * 1e6
        move = f"{statistics.median(row.moves) * 1e6:.0f} ({late:.0f})"
        start, end = (statistics.median(v) * 1000 for v in (row.starts, row.ends))
        box = statistics.median(row.boxes) * 1000
        cells = (row.runtime, row.profile, move, f"{start:.1f}", f"{end:.1f}", f"{box:.0f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what the engine knows and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runtimes", description=__doc__)
    parser.add_argument("--runtime", action="append")
    parser.add_argument("--profile", action="append", choices=("python", "numpy"))
    parser.add_argument("--matches", type=int, default=20)
    parser.add_argument("--moves", type=int, default=200)
    options = parser.parse_args()
    known = containers.describe().get("Runtimes") or {}
    rows = []
    with tempfile.TemporaryDirectory(prefix="peck-bench-") as folder:
        bundle = Path(folder, "main.py")
        bundle.write_text(SOURCE)
        for runtime in options.runtime or ("runc", runtimes.GVISOR):
            if runtime not in known:
                print(f"{runtime}: the engine does not know it", file=sys.stderr)
                continue
            for profile in options.profile or ("python", "numpy"):
                row = measure(runtime, profile, bundle, options.matches, options.moves)
                if row is None:
                    print(f"{runtime}, {profile}: no node came up", file=sys.stderr)
                else:
                    rows.append(row)
    print(table(rows))


if __name__ == "__main__":
    main()
