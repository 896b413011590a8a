"""Matches per second and added time per move through the real sandbox.

``python -m benchmarks.sandbox [--seconds 5] [--launcher NAME ...]``: four trivial agents, one
hundred joint steps, on warm boxes of every launcher this machine has, with two peers in the same
run: the same agents called in process (the same JSON work), and a fresh box for every seat.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from games import GAMES
from sandbox import referee
from sandbox.clock import Clock
from sandbox.errors import HostFault
from sandbox.lineup import borrowed
from sandbox.loans import SeatRequest, hello

SEATS = 4
STEPS = 100
GEESE = GAMES["hungry_geese"]
# Geese that all go east on a board of many rows never meet, and no hunger ends them.
CONFIGURATION = GEESE.configure({"episodeSteps": STEPS + 1, "hunger_rate": 1000, "rows": 30})
SOURCE = "def agent(observation, configuration):\n    return 'EAST'\n"
SEED = bytes(range(16))


@dataclass
class Measured:
    """One row: matches of one way to play. Times in seconds."""

    way: str
    matches: int = 0
    elapsed: float = 0.0
    steps: list[float] = field(default_factory=list)
    """Each joint step but a match's first, which loads the agents."""
    charges: list[float] = field(default_factory=list)
    """Each move but a match's first."""
    ends: list[float] = field(default_factory=list)
    """What a match takes beside its steps: boxes, loading, sweep."""


def in_process(seconds: float) -> Measured:
    """The agents called as functions, with the JSON work that a process would cost."""
    row = Measured("call in process")
    namespace: dict[str, Any] = {}
    exec(SOURCE, namespace)
    agent = namespace["agent"]
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        match_at = time.perf_counter()
        random = referee.game_random(SEED)
        state, _ = GEESE.reset(CONFIGURATION, SEATS, random)
        steps, charges = [], []
        while seats := GEESE.to_move(state):
            step_at = time.perf_counter()
            moves = {}
            for seat in seats:
                move_at = time.perf_counter()
                told = json.loads(json.dumps({"observation": GEESE.observe(state, seat)}))
                answer = json.dumps({"action": agent(told["observation"], CONFIGURATION)})
                moves[seat] = GEESE.parse(state, seat, json.loads(answer)["action"])
                charges.append(time.perf_counter() - move_at)
            state, _ = GEESE.step(state, moves, random)
            steps.append(time.perf_counter() - step_at)
        row.matches += 1
        row.steps += steps[1:]
        row.charges += charges[SEATS:]
        row.ends.append(time.perf_counter() - match_at - sum(steps))
    row.elapsed = time.perf_counter() - started
    return row


def in_boxes(way: str, socket: Path, bundle: Path, seconds: float, *, warm_up: int) -> Measured:
    """Matches one after another through the node at ``socket``."""
    for _ in range(warm_up):
        _match(socket, bundle, Measured(way))
    row = Measured(way)
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        _match(socket, bundle, row)
        row.matches += 1
    row.elapsed = time.perf_counter() - started
    return row


def side_by_side(way: str, socket: Path, bundle: Path, seconds: float, workers: int) -> Measured:
    """The same in several processes at once, as a worker's prefork children play."""
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        given = [(way, socket, bundle, seconds)] * workers
        rows = pool.starmap(_worker, given)
    whole = Measured(f"{way}, {workers} at once", elapsed=max(row.elapsed for row in rows))
    for row in rows:
        whole.matches += row.matches
        whole.steps += row.steps
        whole.charges += row.charges
        whole.ends += row.ends
    return whole


def _worker(way: str, socket: Path, bundle: Path, seconds: float) -> Measured:
    return in_boxes(way, socket, bundle, seconds, warm_up=2)


def _match(socket: Path, bundle: Path, row: Measured) -> None:
    at = [time.perf_counter()]
    requests = [SeatRequest("python", bundle, 256, f"bench-{seat}") for seat in range(SEATS)]
    marks: list[float] = []
    with borrowed(socket, requests, 60.0) as loans:
        played = referee.play(
            GEESE,
            CONFIGURATION,
            Clock(),
            SEED,
            loans,
            lanes=SEATS,
            stop_after_seconds=600.0,
            on_step=lambda _: marks.append(time.perf_counter()),
        )
    if len(played.episode.steps) != STEPS or set(played.episode.verdicts) != {"DONE"}:
        raise SystemExit(f"not the match that was to be measured: {played.seats}")
    steps = [later - earlier for earlier, later in itertools.pairwise(marks)]
    row.steps += steps
    row.charges += [c or 0.0 for step in played.episode.steps[1:] for c in step.charged_seconds]
    row.ends.append(time.perf_counter() - at[0] - sum(steps))


@contextlib.contextmanager
def running(launcher: str, *options: str) -> Iterator[Path | None]:
    """The socket of a node with this launcher; None where there is none."""
    with tempfile.TemporaryDirectory(prefix="peck-bench-") as folder:
        socket, log = Path(folder, "sock"), Path(folder, "log")
        command = [sys.executable, "-m", "sandbox.node", "--launcher", launcher, *options]
        command += ["--profile", "python", "--memory-mb", "256"]
        command += ["--socket", str(socket), "--run-dir", str(Path(folder, "run"))]
        with log.open("wb") as sink:
            process = subprocess.Popen(command, stdout=sink, stderr=sink)
        try:
            yield socket if _comes_up(socket, process) else None
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _comes_up(socket: Path, process: subprocess.Popen[bytes]) -> bool:
    give_up_at = time.monotonic() + 180
    while process.poll() is None and time.monotonic() < give_up_at:
        with contextlib.suppress(HostFault):
            hello(socket)
            return True
        time.sleep(0.1)
    return False


def table(rows: Sequence[Measured]) -> str:
    """The rows with their ratio to the first."""
    base = rows[0]
    head = ("way", "matches/s", "of in-process", "joint step us", "move us (p99)", "added us/move")
    lines = [(*head, "rest of a match ms")]
    for row in rows:
        rate, step = row.matches / row.elapsed, statistics.median(row.steps) * 1e6
        charges = sorted(row.charges)
        move, late = statistics.median(charges), charges[int(len(charges) * 0.99)]
        added = (step - statistics.median(base.steps) * 1e6) / SEATS
        lines.append(
            (
                row.way,
                f"{rate:.1f}",
                f"1/{base.matches / base.elapsed / rate:.1f}",
                f"{step:.0f}",
                f"{move * 1e6:.0f} ({late * 1e6:.0f})",
                f"{added:.0f}",
                f"{statistics.median(row.ends) * 1000:.1f}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def main() -> None:
    """Measure what this machine has and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandbox", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each row")
    parser.add_argument("--workers", type=int, default=2, help="processes of the parallel row")
    parser.add_argument("--launcher", action="append", choices=("bubblewrap", "docker"))
    options = parser.parse_args()
    rows = [in_process(options.seconds)]
    with tempfile.TemporaryDirectory(prefix="peck-bench-") as folder:
        bundle = Path(folder, "main.py")
        bundle.write_text(SOURCE)
        for launcher in options.launcher or ("bubblewrap", "docker"):
            rows += _rows(launcher, bundle, options.seconds, options.workers)
    print(f"{SEATS} trivial agents, {STEPS} joint steps; medians; ratios within this run")
    print(table(rows))


def _rows(launcher: str, bundle: Path, seconds: float, workers: int) -> Iterator[Measured]:
    with running(launcher, "--warm", str(SEATS * workers)) as socket:
        if socket is None:
            print(f"{launcher}: not on this machine", file=sys.stderr)
            return
        yield in_boxes(f"{launcher}, warm boxes", socket, bundle, seconds, warm_up=2)
        yield side_by_side(f"{launcher}, warm boxes", socket, bundle, seconds, workers)
    # Without boxes ready and without boxes kept, every seat starts one.
    with running(launcher, "--warm", "0", "--keep", "0") as socket:
        assert socket is not None
        yield in_boxes(f"{launcher}, fresh box per seat", socket, bundle, seconds, warm_up=0)


if __name__ == "__main__":
    main()
