"""Measures matches per second, by processor time and by wall time, in kept and in fresh boxes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import resource_usage
from benchmarks.box_starts import source_for
from benchmarks.node_harness import SEATS, STEPS, Node, play, running, write_agents
from benchmarks.report_tables import Target

WARM_UP = 2
RATE = {"python": 12, "numpy": 12, "torch": 5}
WALL_MS = 60
MOST_MATCHES = 150
"""A box is replaced after 200 matches; this benchmark stays below that."""


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
    for _ in range(WARM_UP):
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


def rows(
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
