"""Measures the sandbox against its targets, with a real node, referee and boxes.

    python -m benchmarks.sandbox [--launcher NAME ...] [--seconds 5]

There is one table for each launcher on this machine. A figure of several samples shows median, 99th
percentile and best tenth; neighbours on the machine disturb the best tenth least. A "median"
under *met?* means that the median meets the target and the 99th percentile does not.

The peers are the same JSON work in process, and a new box for every seat. Matches per second of a
core count the referee, the node and the boxes as in ``benchmarks.resource_usage``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import resource_usage
from benchmarks.node_harness import (
    BORROW_SECONDS,
    CONFIGURATION,
    LAUNCHERS,
    SEATS,
    STATE,
    STEPS,
    TRIVIAL,
    Node,
    Table,
    observation,
    play,
    running,
    seated,
    write_agents,
    write_large_bundle,
)
from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan, borrow_seats

IDLE_MIB = {"python": 15, "numpy": 26, "torch": 165}
WARM_UP = 200
OWN = Clock(load="own")
SPARE_SECONDS = 0.05
"""The next child is forked within this time after a match."""
UNSEEN_MIB = 1
START = {"python": (2, 8), "numpy": (2, 8), "torch": (4, 20)}
UNSEEN = {"python": 12, "numpy": 12, "torch": 25}
END = {"python": 5, "numpy": 5, "torch": 12}
COLD = {"docker": 500, "bubblewrap": 250}
COLD_TORCH = 2500
_SEEN = observation()
WARM_UP_MATCHES = 2
RATE = {"python": 12, "numpy": 12, "torch": 5}
WALL_MS = 60
MOST_MATCHES = 150
"""A box is replaced after 200 matches; this benchmark stays below that."""


def main() -> None:
    """Measure all launchers of this machine and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandbox", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each rate")
    parser.add_argument("--moves", type=int, default=2000, help="moves of each kind")
    parser.add_argument("--starts", type=int, default=100, help="starts of each kind")
    parser.add_argument("--launcher", action="append", choices=LAUNCHERS)
    parser.add_argument("--state-dir", type=Path, default=STATE, help="libraries of profiles")
    options = parser.parse_args()
    for launcher in options.launcher or LAUNCHERS:
        with (
            resource_usage.enter_own_cgroup() as group,
            tempfile.TemporaryDirectory(prefix="peck-bench-") as made,
        ):
            lines: list[tuple[str, ...]] = [HEAD]
            print(f"\n{launcher}: {describe_machine()}", flush=True)
            with running(launcher, "python", state=options.state_dir) as node:
                if isinstance(node, str):
                    print(node)
                    continue
            for target in _rows(launcher, Path(made), options, group):
                lines.append(target.cells())
            print(aligned(lines))
            print(f"medians / 99th percentiles; at the end: {describe_machine()}")


def _rows(
    launcher: str, folder: Path, options: argparse.Namespace, group: Path | None
) -> Iterator[Target]:
    state: Path = options.state_dir
    with running(launcher, "numpy", "--warm", "4", state=state) as node:
        assert not isinstance(node, str), node
        yield from move_rows(node, folder, options.moves)
    for profile in ("python", "numpy", "torch"):
        with running(launcher, profile, "--warm", "4", "--keep", "8", state=state) as node:
            if isinstance(node, str):
                yield Target(f"start on a warm bound box, {profile}", node, "ms", 4, 20)
            else:
                yield from start_rows(node, folder, options.starts)
                yield measure_unseen_starts(node, folder, max(3, options.starts // 10))
        yield measure_cold_starts(launcher, profile, state, folder, max(2, options.starts // 20))
        yield from match_rows(launcher, profile, state, folder, options.seconds, group)
    for profile in IDLE_MIB:
        yield _measure_idle_memory(launcher, profile, state, folder)


def _measure_idle_memory(launcher: str, profile: str, state: Path, folder: Path) -> Target:
    """Memory of a bound box between two matches: supervisor, zygote, child, init, shim."""
    what, aim = f"idle box, {profile}: anonymous memory", IDLE_MIB[profile]
    with running(launcher, profile, "--warm", "0", state=state) as node:
        if isinstance(node, str):
            return Target(what, node, "MiB", aim)
        bundle = write_agents(folder, source_for(profile), 1)[0]
        time_one_start(node, bundle)
        resource_usage.wait_until_idle(node)
        parts = resource_usage.anonymous_by_kind(node)
        shown = ", ".join(f"{kind} {mib:.1f}" for kind, mib in parts.items())
        return Target(what, [resource_usage.anonymous_mib(node)], "MiB", aim, floor=shown)


def time_moves_in_process(count: int) -> list[float]:
    """The peer: writes and reads the same packets and calls the same agent in one process."""
    seen = observation()
    times = []
    for number in range(count):
        began = time.perf_counter()
        told = json.loads(json.dumps({"k": "act", "n": number, "observation": seen}))
        action = _east(told["observation"], CONFIGURATION)
        answer = json.loads(json.dumps({"k": "reply", "n": number, "action": action}))
        assert answer["action"] == "EAST"
        times.append(time.perf_counter() - began)
    return times


def move_rows(node: Node, folder: Path, count: int) -> Iterator[Target]:
    """The added time of a move, the time of a step of four seats, and of freezing."""
    (bundle, *_), seen = write_agents(folder, TRIVIAL), observation()
    clock = Clock(load="own")
    with seated(node, [bundle], clock) as table:
        resource_usage.wait_until_idle(node)
        for _ in range(WARM_UP):
            table.step(seen)
        # Alternates with the peer, so that both have the same neighbours.
        alone, boxed = [], []
        for _ in range(10):
            alone += time_moves_in_process(count // 10)
            boxed += [sum(table.step(seen)) for _ in range(count // 10)]
        base = statistics.median(alone)
        ratio = statistics.median(boxed) / base
        yield Target("the same JSON work in process", _micro(alone), "us")
        yield Target(
            "one move through a box, added time",
            [1e6 * (one - base) for one in boxed],
            "us",
            60,
            300,
            f"30 us: 2 switches, 4 JSON passes; x{ratio:.1f} of the time in process",
        )
    with seated(node, write_agents(folder, TRIVIAL), clock) as table:
        resource_usage.wait_until_idle(node)
        for _ in range(WARM_UP):
            table.step(seen)
        steps = [sum(table.step(seen)) for _ in range(count)]
        ratio = statistics.median(steps) / (SEATS * base)
        yield Target(
            f"step of {SEATS} seats asked at once",
            _micro(steps),
            "us",
            250,
            None,
            f"4 x 45 us of cpu on 2 cores; x{ratio:.1f} of four in process",
        )
    yield _freezing(node, bundle, count)


def _freezing(node: Node, bundle: Path, count: int) -> Target:
    with borrow_seats(node.socket, [node.request(bundle)], 60) as (loan,):
        assert isinstance(loan, Loan)
        meter = loan.meter
        meter.freeze()
        if not meter.is_frozen:
            return Target("freeze and thaw", "not available here", "us", 60)
        meter.thaw()
        times = []
        for _ in range(min(count, 300)):
            began = time.perf_counter()
            meter.freeze()
            freezing = time.perf_counter() - began
            time.sleep(0.002)  # waits until the box is frozen
            began = time.perf_counter()
            meter.thaw()
            times.append(freezing + time.perf_counter() - began)
            time.sleep(0.001)
    return Target("freeze and thaw", _micro(times), "us", 60, None, "two file writes")


def _east(observation: object, configuration: object) -> str:
    return "EAST"


def _micro(seconds: list[float]) -> list[float]:
    return [1e6 * one for one in seconds]


def start_rows(node: Node, folder: Path, count: int) -> Iterator[Target]:
    """Starts and ends on a bound, warm box."""
    bundle = write_agents(folder, source_for(node.profile), 1)[0]
    time_one_start(node, bundle)
    resource_usage.wait_until_idle(node)
    rested, lent, ends = [], [], []
    for _ in range(count):
        time.sleep(SPARE_SECONDS)
        borrowing, start, end = time_one_start(node, bundle)
        lent.append(1e3 * borrowing)
        rested.append(1e3 * (borrowing + start))
        ends.append(1e3 * end)
    hurried = []
    for _ in range(count):
        borrowing, start, _ = time_one_start(node, bundle)
        hurried.append(1e3 * (borrowing + start))
    median, p99 = START[node.profile]
    name = node.profile
    yield Target(
        f"start on a warm bound box, {name}",
        rested,
        "ms",
        median,
        p99,
        "main.py executed by a child pre-forked",
    )
    yield Target(f"  until the loan, {name}", lent, "ms")
    yield Target(f"  right after a match's end, {name}", hurried, "ms", None, None, "with the fork")
    yield Target(
        f"end of a match: sweep and proof, {name}",
        ends,
        "ms",
        END[name],
        None,
        "exit of the interpreter",
    )


def measure_unseen_starts(node: Node, folder: Path, count: int) -> Target:
    """Starts of new submissions on generic warm boxes, with pauses to refill the pool."""
    times = []
    for number in range(count):
        bundle = write_large_bundle(
            folder / f"unseen{number}.tar.gz", source_for(node.profile), UNSEEN_MIB
        )
        resource_usage.wait_until_idle(node)
        borrowing, start, _ = time_one_start(node, bundle)
        times.append(1e3 * (borrowing + start))
    return Target(
        f"unseen submission of {UNSEEN_MIB} MiB on a generic warm box, {node.profile}",
        times,
        "ms",
        UNSEEN[node.profile],
        None,
        "unpacked twice copied, a fork each for unpacker and child",
    )


def measure_cold_starts(
    launcher: str, profile: str, state: Path, folder: Path, count: int
) -> Target:
    """Starts that must first start a box."""
    what = f"start on a cold box, {profile}"
    aim = COLD_TORCH if profile == "torch" else COLD[launcher]
    with running(launcher, profile, "--warm", "0", "--keep", "0", state=state) as node:
        if isinstance(node, str):
            return Target(what, node, "ms", aim)
        bundle = write_agents(folder, source_for(profile), 1)[0]
        times = []
        for _ in range(count):
            borrowing, start, _ = time_one_start(node, bundle)
            times.append(1e3 * (borrowing + start))
            time.sleep(0.5)  # lets the removed box end
    return Target(what, times, "ms", aim, None, "start of container and imports")


def source_for(profile: str) -> str:
    """A trivial agent that uses the libraries of its profile."""
    return _NET if profile == "torch" else TRIVIAL


_NET = """\
import torch

NET = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))


def agent(observation, configuration):
    with torch.inference_mode():
        best = int(NET(torch.zeros(1, 64)).argmax())
    return 'EAST' if best < 4 else 'WEST'
"""


def time_one_start(node: Node, bundle: Path) -> tuple[float, float, float]:
    """Seconds to the loan, from the loan to ready, and for the end after one move."""
    began = time.perf_counter()
    with borrow_seats(node.socket, [node.request(bundle)], BORROW_SECONDS) as (loan,):
        assert isinstance(loan, Loan), loan
        lent = time.perf_counter()
        table = Table([loan], OWN)
        table.start()
        ready = time.perf_counter()
        table.step(_SEEN)
        table.close()
        ending = time.perf_counter()
        if not loan.end().clean:
            raise SystemExit("the box was not clean")
        ended = time.perf_counter()
    return lent - began, ready - lent, ended - ending


_SEEN = observation()


@dataclass(frozen=True)
class Rate:
    """The matches of a measurement, with their wall and processor time."""

    matches: int
    elapsed: float
    walls: Sequence[float]
    steps: Sequence[float]
    spent: resource_usage.Spent | None
    """None where processor time cannot be measured."""

    @property
    def per_core_second(self) -> list[float] | str:
        """Matches per second of one core's processor time."""
        if self.spent is None:
            return "cpu time is not measured here"
        return [self.matches / self.spent.total]

    @property
    def parts(self) -> dict[str, float]:
        """Processor seconds by part; empty where they cannot be measured."""
        if self.spent is None:
            return {}
        return {
            "referee": self.spent.referee,
            "node": self.spent.node,
            "supervisors": self.spent.supervisors,
            "zygotes": self.spent.zygotes,
            "children and the rest": self.spent.children,
        }


def measure(node: Node, bundles: Sequence[Path], seconds: float, group: Path | None) -> Rate:
    """Play matches one after another."""
    for _ in range(WARM_UP_MATCHES):
        play(node, bundles)
    resource_usage.wait_until_idle(node)  # waits for the replacement of used boxes
    before = None if group is None else resource_usage.spent(group, node)
    walls, steps = list[float](), list[float]()
    began = time.perf_counter()
    while time.perf_counter() - began < seconds and len(walls) < MOST_MATCHES:
        match = play(node, bundles)
        walls.append(match.wall)
        steps += match.steps
    elapsed = time.perf_counter() - began
    time.sleep(0.2)  # lets the boxes of the last match fork their next children
    after = None if group is None else resource_usage.spent(group, node)
    used = None if after is None or before is None else after - before
    return Rate(len(walls), elapsed, walls, steps, used)


def match_rows(
    launcher: str, profile: str, state: Path, folder: Path, seconds: float, group: Path | None
) -> Iterator[Target]:
    """The rates of one profile."""
    title = f"{SEATS} seats, {STEPS} joint steps, {profile}"
    aim = RATE[profile]
    warm = ("--warm", str(2 * SEATS))
    bundles = write_agents(folder, source_for(profile))
    with running(launcher, profile, *warm, state=state) as node:
        if isinstance(node, str):
            yield Target(f"matches/s/core, {title}", node, "/s/core", aim, better="more")
            return
        one = measure(node, bundles, seconds, group)
        yield Target(
            f"matches/s/core, {title}",
            one.per_core_second,
            "/s/core",
            aim,
            floor="4 life cycles and 400 moves: 54 ms of cpu, or 18; stretch 20",
            better="more",
        )
        for whose, used in one.parts.items():
            yield Target(f"  cpu of a match: {whose}", [1e3 * used / one.matches], "ms")
        walls = [1e3 * wall for wall in one.walls]
        yield Target(
            "  wall time of a match", walls, "ms", WALL_MS, None, "4 starts and ends on 2 cores"
        )
        yield Target("  a joint step in it, rules included", [1e6 * s for s in one.steps], "us")
        rate = one.matches / one.elapsed
        yield Target("  matches/s in wall time, 1 at a time", [rate], "/s", better="more")
    if profile != "torch":
        yield from _measure_fresh_boxes(launcher, profile, state, bundles, (seconds, one, group))


def _measure_fresh_boxes(
    launcher: str,
    profile: str,
    state: Path,
    bundles: Sequence[Path],
    kept: tuple[float, Rate, Path | None],
) -> Iterator[Target]:
    """The peer: the same matches with a new box for every seat."""
    seconds, one, group = kept
    with running(launcher, profile, "--warm", "0", "--keep", "0", state=state) as node:
        assert not isinstance(node, str)
        play(node, bundles)
        before = _group_seconds(group)
        walls = []
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            walls.append(play(node, bundles).wall)
        elapsed = time.perf_counter() - began
        time.sleep(1.0)  # lets removals end
        used = _group_seconds(group) - before
    rate = len(walls) / elapsed
    ratio = one.matches / one.elapsed / rate
    yield Target(
        "  a new box for every seat: matches/s in wall time",
        [rate],
        "/s",
        floor=f"kept boxes: x{ratio:.1f}",
        better="more",
    )
    slower = statistics.median(walls) / statistics.median(one.walls)
    yield Target(
        "  a new box for every seat: wall time of a match",
        [1e3 * wall for wall in walls],
        "ms",
        floor=f"x{slower:.1f} of kept boxes",
    )
    if group is not None and launcher == "bubblewrap" and one.spent is not None:
        # For Docker the engine's own processes would count too.
        fresh = len(walls) / used
        more = one.matches / one.spent.total / fresh
        yield Target(
            "  a new box for every seat: matches/s/core",
            [fresh],
            "/s/core",
            floor=f"kept boxes: x{more:.1f}",
            better="more",
        )


def _group_seconds(group: Path | None) -> float:
    return 0.0 if group is None else resource_usage.group_seconds(group)


if __name__ == "__main__":
    main()
