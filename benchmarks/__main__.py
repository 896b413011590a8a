"""Lists the benchmarks, runs one of them, or runs all and writes ``docs/performance.md``.

    python -m benchmarks
    python -m benchmarks NAME [OPTION ...]
    python -m benchmarks all [--short]

``all --short`` leaves out ``first_start``. The page keeps what stands there from ``MARK`` on.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
MARK = "## Earlier and longer runs\n"
MOST_SECONDS = 3600.0


@dataclass(frozen=True)
class Benchmark:
    """A module of this package, and what it decides."""

    name: str
    what: str
    short: tuple[str, ...] | None
    """Options of a short run. None: a short run leaves it out."""


BENCHMARKS = (
    Benchmark(
        "first_start",
        "from a checkout to three matches of each demo agent",
        None,
    ),
    Benchmark(
        "engine",
        "rules of each game, beside kaggle-environments",
        ("--games", "5"),
    ),
    Benchmark(
        "sandbox",
        "moves, starts and matches in boxes, beside new boxes",
        ("--launcher", "bubblewrap", "--seconds", "1", "--moves", "500", "--starts", "20"),
    ),
    Benchmark(
        "fairness",
        "charges on a busy machine, beside a quiet one",
        ("--launcher", "bubblewrap", "--moves", "400", "--each", "100", "--loads", "2"),
    ),
    Benchmark(
        "whole_way",
        "rated matches a second, and what one costs",
        ("--seconds", "15", "--warm-up", "5"),
    ),
    Benchmark("commands", "`peck` commands", ("--calls", "5", "--games", "5")),
    Benchmark(
        "api",
        "reads of the leaderboard, beside a bare route",
        ("--seconds", "0.5", "--rounds", "1"),
    ),
    Benchmark("match_filters", "filters of ten million matches", ("--matches", "100000")),
    Benchmark("site_weight", "weight and first paint of the most used pages", ("--rounds", "1")),
    Benchmark(
        "pairing",
        "rounds of pairing, beside random lineups",
        ("--agents", "1000", "--matches", "100000", "--rounds", "20"),
    ),
    Benchmark(
        "fits",
        "live ratings and official fits, beside the trueskill package",
        ("--agents", "100", "--matches", "5000"),
    ),
    Benchmark("rating", "what the ladder promises, on simulated seasons", ("--short",)),
    Benchmark(
        "fleet",
        "claims of up to 10,000 workers",
        ("--workers", "100", "--claims", "200", "--seconds", "5"),
    ),
    Benchmark(
        "joined",
        "a match on a joined machine, beside one of the site",
        ("--matches", "5", "--steps", "20"),
    ),
    Benchmark(
        "live",
        "how late frames come, and what watchers cost",
        ("watchers", "--watchers", "200", "--seconds", "4"),
    ),
)
NAMES = {benchmark.name: benchmark for benchmark in BENCHMARKS}


def describe_hardware() -> str:
    """The processor, its cores, the memory and the software of this machine."""
    processors = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.+)", processors)
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    gib = int(memory[1]) / (1 << 20) if memory else 0
    name = model[1].strip() if model else platform.machine()
    return (
        f"{processors.count('processor')} cores of {name}, {gib:.0f} GiB,"
        f" Linux {platform.release()}, Python {platform.python_version()}"
    )


def run_all(short: bool) -> int:
    """Run each benchmark in its own process; the exit status is the number of failures."""
    began, failed, sections = time.monotonic(), 0, list[str]()
    for benchmark in BENCHMARKS:
        options = benchmark.short if short else ()
        if options is None:
            continue
        print(f"{time.monotonic() - began:5.0f} s  {benchmark.name}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{benchmark.name}", *options],
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
        failed += done.returncode != 0
        output = done.stdout if done.returncode == 0 else done.stdout + done.stderr[-2000:]
        line = " ".join(["$ python -m benchmarks", benchmark.name, *options])
        sections.append(
            f"## {benchmark.name}\n\n{benchmark.what.capitalize()}."
            f"\n\n```\n{line}\n{output.strip()}\n```\n"
        )
    command = f"python -m benchmarks all{' --short' if short else ''}"
    minutes = (time.monotonic() - began) / 60
    head = (
        "# Performance\n\n"
        f"`{command}` wrote the first part of this page in {minutes:.0f} minutes."
        f" The machine: {describe_hardware()}.\n"
    )
    rest = PAGE.read_text().partition(MARK)[2]
    PAGE.write_text("\n".join([head, *sections, MARK]) + rest)
    return failed


def main() -> int:
    match sys.argv[1:]:
        case []:
            for benchmark in BENCHMARKS:
                print(f"{benchmark.name:14}{benchmark.what}")
            return 0
        case ["all"]:
            return run_all(short=False)
        case ["all", "--short"]:
            return run_all(short=True)
        case [name, *options] if name in NAMES:
            return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options]).returncode
        case [name, *_]:
            print(f"there is no benchmark {name}; there are: {', '.join(NAMES)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
