"""All figures in one go: ``python -m benchmarks``; each module also runs alone."""

from __future__ import annotations

import subprocess
import sys

NAMES = ("engine", "sandbox", "fairness", "api", "latency", "refit", "rater", "pairing")


def main() -> int:
    """Run each benchmark in a process of its own; the exit status is the number that failed."""
    failed = 0
    for name in NAMES:
        print(f"\n== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
