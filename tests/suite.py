"""Runs all CI steps in stages, and prints one line of totals at the end.

The checks run beside the first tests. Tests marked ``alone`` run last, one at a time, because other
tests would disturb their measurements.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

PROCESSES: Final = 2
FOLDERS: Final = ("tests/integration", "tests/web", "tests/acceptance", "tests/chaos", "tests/unit")
PYTEST: Final = (sys.executable, "-m", "pytest", "-q")
SLOWEST: Final = 25
KINDS: Final = {"failure": "failed", "error": "error", "skipped": "skipped"}


@dataclass
class Totals:
    """The results of all stages together."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: list[tuple[float, str]] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    """Milliseconds of the tests of each file."""

    def add(self, report: Path) -> None:
        """Count the tests of one JUnit report."""
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            self.seconds.append((float(case.get("time", 0)), name))
            self.files[str(case.get("classname"))] += round(1000 * float(case.get("time", 0)))
            self.counts.update(
                [KINDS[part.tag] for part in case if part.tag in KINDS] or ["passed"]
            )

    def slowest(self) -> list[str]:
        """The slowest tests with their fixtures, longest first."""
        longest = sorted(self.seconds, reverse=True)[:SLOWEST]
        return [f"{seconds:8.2f}s {name}" for seconds, name in longest]

    def slowest_files(self) -> list[str]:
        """The files whose tests take longest together."""
        return [f"{ms / 1000:8.2f}s {name}" for name, ms in self.files.most_common(SLOWEST)]

    def line(self, seconds: float) -> str:
        """The totals in pytest's usual form."""
        errors = "errors" if self.counts["error"] > 1 else "error"
        words = {"failed": "failed", "passed": "passed", "skipped": "skipped", "error": errors}
        found = [f"{self.counts[kind]} {word}" for kind, word in words.items() if self.counts[kind]]
        clock = time.strftime("%H:%M:%S", time.gmtime(seconds)).removeprefix("0")
        text = f" {', '.join(found) or 'no tests ran'} in {seconds:.2f}s ({clock}) "
        return text.center(80, "=")


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def files_alone() -> list[str]:
    """The files with tests marked ``alone``: to collect all others takes longer than these run."""
    files = [path for folder in FOLDERS for path in sorted(Path(folder).rglob("test_*.py"))]
    return [str(path) for path in files if "pytest.mark.alone" in path.read_text()]


def tests(totals: Totals, name: str, *options: str) -> bool:
    """Run one stage of tests; returns whether it passed."""
    say(name)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [*PYTEST, *options, f"--junit-xml={report}"]
        status = subprocess.run(command, check=False).returncode
        if report.exists():
            totals.add(report)
    say(f"{name}: {time.monotonic() - began:.0f} s, status {status}")
    return status == 0


@contextmanager
def beside(command: Sequence[str]) -> Iterator[list[bool]]:
    """Run a command beside the block; then print its output and append whether it passed."""
    passed: list[bool] = []
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield passed
            passed.append(process.wait() == 0)
        finally:
            process.terminate()
            process.wait()
        output.seek(0)
        say(f"{command[0]}, which ran beside: {'passed' if passed == [True] else 'failed'}")
        print(output.read(), flush=True)


def main() -> int:
    began = time.monotonic()
    totals = Totals()
    with beside(["scripts/check"]) as checked:
        shared = tests(
            totals,
            f"tests, {PROCESSES} processes",
            *("-n", str(PROCESSES), "-m", "not alone"),
            *FOLDERS,
        )
    alone = tests(totals, "tests that need the machine alone", "-m", "alone", *files_alone())
    passed = [*checked, shared, alone]
    say(f"the slowest {SLOWEST} tests")
    print("\n".join(totals.slowest()))
    say(f"the slowest {SLOWEST} files")
    print("\n".join(totals.slowest_files()))
    if not checked[0]:
        print("scripts/check failed; its output is above")
    print(totals.line(time.monotonic() - began), flush=True)
    return 0 if all(passed) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
