"""Runs the benchmarks of docs/performance.md and prints their tables for that page.

    python -m benchmarks.performance [--quick] [--only NAME ...]

It takes about half an hour on a quiet machine; ``--quick`` takes some minutes and tells less.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """One benchmark with its options."""

    title: str
    module: str
    options: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    """Options of a short run."""

    def command(self, *, quick: bool) -> list[str]:
        return ["-m", f"benchmarks.{self.module}", *(self.quick if quick else self.options)]


RUNS = (
    Run("Moves and matches in boxes", "sandbox", (), ("--seconds", "1")),
    Run("Rated matches through the whole system", "whole_way", (), ("--seconds", "15")),
    Run("Commands", "commands", (), ("--calls", "5", "--games", "5")),
    Run(
        "The leaderboard",
        "api",
        ("--agents", "100000"),
        ("--agents", "1000", "--seconds", "0.5", "--rounds", "1"),
    ),
    Run("Lists of matches with filters", "match_filters", (), ("--matches", "100000")),
    Run("Ratings", "rating_throughput", (), ("--agents", "100", "--matches", "5000")),
)


def machine() -> str:
    """The processor, its cores, the memory and the software of this machine."""
    told = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.+)", told)
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    gib = int(memory[1]) / (1 << 20) if memory else 0
    name = model[1].strip() if model else platform.machine()
    return (
        f"{told.count('processor')} cores of {name}, {gib:.0f} GiB, Linux {platform.release()},"
        f" Python {platform.python_version()}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=[run.module for run in RUNS])
    options = parser.parse_args()
    print(f"{machine()}\n")
    failed = 0
    for run in (one for one in RUNS if one.module in options.only):
        command = run.command(quick=options.quick)
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
        failed += done.returncode != 0
        said = done.stdout if done.returncode == 0 else done.stdout + done.stderr[-2000:]
        print(
            f"## {run.title}\n\n```\n$ python {' '.join(command)}\n{said.strip()}\n```\n",
            flush=True,
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
