"""Runs all benchmarks: ``python -m benchmarks``; one of them: ``python -m benchmarks NAME ...``."""

from __future__ import annotations

import subprocess
import sys

NAMES = (
    "first_start",
    "engine",
    "anchors",
    "sandbox",
    "contracts",
    "fairness",
    "whole_way",
    "commands",
    "api",
    "latency",
    "match_filters",
    "site_weight",
    "notices",
    "official_fit",
    "rating_throughput",
    "pairing",
    "scrim_queue",
    "machine_trust",
    "pairing_rounds",
    "swiss",
    "large_tournament",
    "rating",
    "rating.promises",
    "rating.tricks",
    "rating.crowds",
    "rating.suspects",
    "rating.jumps",
    "season_order",
    "cards",
    "live",
    "player_frames",
    "joined",
    "fleet",
    "comparisons",
    "comparison_draws",
)


def main() -> int:
    """Run each benchmark in its own process; the exit status is the number of failures."""
    if len(sys.argv) > 1:
        name, *options = sys.argv[1:]
        if name not in NAMES:
            print(f"there is no benchmark {name}; there are: {', '.join(NAMES)}", file=sys.stderr)
            return 2
        return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options]).returncode
    failed = 0
    for name in NAMES:
        print(f"\n== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
