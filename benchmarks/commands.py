"""Measures commands: `peck leaderboard`, `peck api`, and `peck run` with quick agents.

    python -m benchmarks.commands [--calls 20] [--games 20]

The site is real, with 100 agents. Processor time is that of the command and its children.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.rated_season import create_rated_season, postgres
from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from benchmarks.site_process import CHECKOUT, serving

PORT = 8101
AGENT = CHECKOUT / "agents" / "hungry_geese" / "greedy"


def measure(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds by the clock and of the processor that the command takes."""
    before, began = _children_seconds(), time.perf_counter()
    subprocess.run(
        command, env={**os.environ, **environment}, check=True, capture_output=True, cwd="/"
    )
    return time.perf_counter() - began, _children_seconds() - before


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands", description=__doc__)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--games", type=int, default=20)
    options = parser.parse_args()
    state = Path(tempfile.mkdtemp(prefix="peck-bench-", dir="/var/tmp"))
    state.chmod(0o711)
    peck = str(CHECKOUT / "peck")
    try:
        with postgres(state) as url:
            create_rated_season(url, 100)
            blobs = (state / "blobs").as_uri()
            factory = "services.app:create_app"
            with serving(factory, PORT, state, PECK_DATABASE_URL=url, PECK_BLOBS_URL=blobs):
                site = {"PECK_URL": f"http://127.0.0.1:{PORT}", "PECK_TOKEN": ""}
                board = [
                    measure([peck, "leaderboard", "bench"], site) for _ in range(options.calls)
                ]
                read = [peck, "api", "read-season", "bench"]
                operation = [measure(read, site) for _ in range(options.calls)]
        bare = [measure([sys.executable, "-c", "pass"], {}) for _ in range(options.calls)]
        games = [str(AGENT)] * 4 + ["--games", str(options.games), "--out", str(state / "run")]
        run = measure([peck, "run", "hungry_geese", *games], {})
    finally:
        shutil.rmtree(state, ignore_errors=True)
    floor = "start of an interpreter"
    print(describe_machine())
    rows = (
        Target("peck leaderboard", [1e3 * one for one, _ in board], "ms", 250, None, floor),
        Target("  its processor time", [1e3 * one for _, one in board], "ms"),
        Target("peck api read-season", [1e3 * one for one, _ in operation], "ms", 250, None, floor),
        Target("  its processor time", [1e3 * one for _, one in operation], "ms"),
        Target("an interpreter that does nothing", [1e3 * one for one, _ in bare], "ms"),
        Target(f"peck run, {options.games} games of 4 quick agents", [run[0]], "s"),
    )
    print(aligned([HEAD, *(row.cells() for row in rows)]))


if __name__ == "__main__":
    main()
