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
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import box_starts, match_rates, move_overhead, resource_usage
from benchmarks.node_harness import LAUNCHERS, STATE, running, write_agents
from benchmarks.report_tables import HEAD, Target, aligned, describe_machine

IDLE_MIB = {"python": 15, "numpy": 26, "torch": 165}


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
        yield from move_overhead.rows(node, folder, options.moves)
    for profile in ("python", "numpy", "torch"):
        with running(launcher, profile, "--warm", "4", "--keep", "8", state=state) as node:
            if isinstance(node, str):
                yield Target(f"start on a warm bound box, {profile}", node, "ms", 4, 20)
            else:
                yield from box_starts.rows(node, folder, options.starts)
                yield box_starts.measure_unseen_starts(node, folder, max(3, options.starts // 10))
        yield box_starts.measure_cold_starts(
            launcher, profile, state, folder, max(2, options.starts // 20)
        )
        yield from match_rates.rows(launcher, profile, state, folder, options.seconds, group)
    for profile in IDLE_MIB:
        yield _measure_idle_memory(launcher, profile, state, folder)


def _measure_idle_memory(launcher: str, profile: str, state: Path, folder: Path) -> Target:
    """Memory of a bound box between two matches: supervisor, zygote, child, init, shim."""
    what, aim = f"idle box, {profile}: anonymous memory", IDLE_MIB[profile]
    with running(launcher, profile, "--warm", "0", state=state) as node:
        if isinstance(node, str):
            return Target(what, node, "MiB", aim)
        bundle = write_agents(folder, box_starts.source_for(profile), 1)[0]
        box_starts.time_one_start(node, bundle)
        resource_usage.wait_until_idle(node)
        parts = resource_usage.anonymous_by_kind(node)
        shown = ", ".join(f"{kind} {mib:.1f}" for kind, mib in parts.items())
        return Target(what, [resource_usage.anonymous_mib(node)], "MiB", aim, floor=shown)


if __name__ == "__main__":
    main()
