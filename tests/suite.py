"""Runs all CI steps in stages, and prints one line of totals at the end.

The checks and the unit tests run beside the other tests with a low priority, so they run while the
other tests wait. Tests marked ``alone`` run last, one at a time, because other tests would
disturb their measurements. Up to ``MOST_REPEATED`` tests that failed run once more at the end. If
all of them pass then, the run passes, and prints their names and the word flaky.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

PROCESSES: Final = 2
FOLDERS: Final = ("tests/integration", "tests/web", "tests/acceptance", "tests/chaos")
UNIT: Final = "tests/unit"
PYTEST: Final = (sys.executable, "-m", "pytest", "-q")
NO_REPORT: Final = 70
"""Status of a stage that ended well and left no report: pytest ended before its end."""
LOW_PRIORITY: Final = ("nice", "-n", "10")
SLOWEST: Final = 25
MOST_REPEATED: Final = 3
"""More failed tests are not repeated."""
KINDS: Final = {"failure": "failed", "error": "error", "skipped": "skipped"}


@dataclass
class Totals:
    """The results of all stages together."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: list[tuple[float, str]] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    """Milliseconds of the tests of each file."""
    failed: list[str] = field(default_factory=list)

    def add(self, report: Path) -> bool:
        """Count the tests of one JUnit report; returns whether it is complete."""
        try:
            root = ElementTree.parse(report).getroot()
        except (OSError, ElementTree.ParseError):  # the process ended early
            return False
        for case in root.iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            self.seconds.append((float(case.get("time", 0)), name))
            self.files[str(case.get("classname"))] += round(1000 * float(case.get("time", 0)))
            kinds = [KINDS[part.tag] for part in case if part.tag in KINDS] or ["passed"]
            self.counts.update(kinds)
            if {"failed", "error"} & set(kinds):
                self.failed.append(name)
        return True

    def names(self) -> set[str]:
        """The names of all tests that were reported."""
        return {name for _, name in self.seconds}

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
        words = {
            "failed": "failed",
            "passed": "passed",
            "flaky": "flaky",
            "skipped": "skipped",
            "error": errors,
        }
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


def tests(totals: Totals, name: str, *options: str) -> int:
    """Run one stage of tests; returns pytest's exit status."""
    say(name)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [*PYTEST, *options, f"--junit-xml={report}"]
        status = subprocess.run(command, check=False).returncode
        if not totals.add(report) and status == 0:
            status = NO_REPORT
    say(f"{name}: {time.monotonic() - began:.0f} s, status {status}")
    return status


def pass_when_repeated(totals: Totals, failed: Sequence[Sequence[str]]) -> bool:
    """Run the tests that failed once more; returns whether all pass. Then they count as flaky.

    ``failed`` holds pytest's options for each stage that had failed tests.
    """
    if not 0 < len(totals.failed) <= MOST_REPEATED:
        return False
    again = Totals()
    for options in failed:
        if tests(again, "tests that failed, once more", "--last-failed", *options):
            return False
    if again.names() != set(totals.failed):
        return False
    for name in sorted(set(totals.failed)):
        print(f"flaky: {name} failed and passed when repeated; find the cause")
    del totals.counts["failed"], totals.counts["error"]
    totals.counts["flaky"] = len(set(totals.failed))
    return True


@contextmanager
def beside(name: str, command: Sequence[str]) -> Iterator[list[int]]:
    """Run a command beside the block; then print its output and append its exit status."""
    status: list[int] = []
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [*LOW_PRIORITY, *command],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield status
            status.append(process.wait())
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
        output.seek(0)
        say(f"{name}, which ran beside: {'passed' if status == [0] else 'failed'}")
        print(output.read(), flush=True)


def main() -> int:
    # A shell starts programs in the background without SIGINT. Tests send it to their programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    totals = Totals()
    with tempfile.TemporaryDirectory() as folder:
        unit = [f"--override-ini=cache_dir={folder}/unit", UNIT]
        others = f"--override-ini=cache_dir={folder}/others"
        report = Path(folder, "unit.xml")
        with (
            beside("scripts/check", ["scripts/check"]) as checked,
            beside(UNIT, [*PYTEST, *unit, f"--junit-xml={report}"]) as unit_status,
        ):
            shared = tests(
                totals,
                f"tests, {PROCESSES} processes",
                *("-n", str(PROCESSES), "-m", "not alone", others),
                *FOLDERS,
            )
        if not totals.add(report) and unit_status == [0]:
            unit_status = [NO_REPORT]
        alone = tests(
            totals, "tests that need the machine alone", "-m", "alone", others, *files_alone()
        )
        passed = {shared, alone, *unit_status} == {0}
        if not passed and {shared, alone, *unit_status} <= {0, 1}:
            failed = [unit] if unit_status != [0] else []
            if shared or alone:
                failed.append([others, *FOLDERS])
            passed = pass_when_repeated(totals, failed)
    say(f"the slowest {SLOWEST} tests")
    print("\n".join(totals.slowest()))
    say(f"the slowest {SLOWEST} files")
    print("\n".join(totals.slowest_files()))
    if unit_status != [0] and not passed:
        print(f"{UNIT} failed; its output is above")
    if checked != [0]:
        print("scripts/check failed; its output is above")
    print(totals.line(time.monotonic() - began), flush=True)
    return 0 if passed and checked == [0] else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
