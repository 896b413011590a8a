"""Splits the time of a move, a start and a match into parts, to justify lower limits."""

from __future__ import annotations

import cProfile
import io
import pstats
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import box_starts, match_rates, resource_usage
from benchmarks.node_harness import Node, observation, play, running, seated, write_agents
from benchmarks.report_tables import aligned
from sandbox.match.clock import Clock

MOVES = 1000
MATCHES = 30
FUNCTIONS = 15


def report(launcher: str, folder: Path, state: Path, group: Path | None) -> str:
    """The parts of a move, of a start and of a match's cpu time, and the referee's busiest
    functions."""
    with running(launcher, "numpy", "--warm", "4", state=state) as node:
        assert not isinstance(node, str), node
        bundles = write_agents(folder, box_starts.source_for(node.profile))
        parts = [
            ("part", "median us"),
            *_move_parts(node, bundles[:1]),
            *_start_parts(node, bundles[0]),
        ]
        parts += _cpu_parts(node, bundles, group)
        return f"{aligned(parts)}\n\n{_functions(node, bundles)}"


def _move_parts(node: Node, bundles: Sequence[Path]) -> list[tuple[str, str]]:
    seen = observation()
    with seated(node, bundles, Clock(load="own")) as table:
        times = [table.step(seen) for _ in range(MOVES)]
    names = (
        "move: thaw, cpu read, question written as JSON",
        "move: packet there, agent, packet back, cpu read",
        "move: charge, answer read and checked",
    )
    return [
        (name, f"{1e6 * statistics.median(column):.1f}")
        for name, column in zip(names, zip(*times, strict=True), strict=True)
    ]


def _start_parts(node: Node, bundle: Path) -> list[tuple[str, str]]:
    box_starts.time_one_start(node, bundle)
    resource_usage.wait_until_idle(node)
    times = []
    for _ in range(MATCHES):
        time.sleep(box_starts.SPARE_SECONDS)
        times.append(box_starts.time_one_start(node, bundle))
    names = (
        "start: loan (digest, box, descriptors)",
        "start: start message, seeds, main.py, ready",
        "end: reap, sweep, proof, log",
    )
    return [
        (name, f"{1e6 * statistics.median(column):.0f}")
        for name, column in zip(names, zip(*times, strict=True), strict=True)
    ]


def _cpu_parts(node: Node, bundles: Sequence[Path], group: Path | None) -> list[tuple[str, str]]:
    rate = match_rates.measure(node, bundles, 3.0, group)
    if rate.spent is None:
        return []
    return [
        (f"cpu of a match: {name}", f"{1e6 * used / rate.matches:.0f}")
        for name, used in rate.parts.items()
    ]


def _functions(node: Node, bundles: Sequence[Path]) -> str:
    """The referee's busiest functions; the profiler's own cost inflates every time."""
    profiler = cProfile.Profile()
    play(node, bundles)
    profiler.enable()
    for _ in range(MATCHES):
        play(node, bundles)
    profiler.disable()
    sink = io.StringIO()
    pstats.Stats(profiler, stream=sink).strip_dirs().sort_stats("tottime").print_stats(FUNCTIONS)
    lines = [line for line in sink.getvalue().splitlines() if line.strip()]
    return f"the referee in {MATCHES} matches, by own time:\n" + "\n".join(lines[2:])
