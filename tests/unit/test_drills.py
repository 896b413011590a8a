"""Each drill of ``scripts/drill`` names tests that exist."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.drills.full_speed import Minute, faults_of

CHECKOUT = Path(__file__).resolve().parents[2]
DRILLS = sorted((CHECKOUT / "tests" / "drills").glob("[!_]*.py"))
SANDBOX = CHECKOUT / "tests" / "integration" / "sandbox"


@pytest.mark.parametrize("drill", DRILLS, ids=lambda path: path.stem)
def test_a_drill_names_files_and_functions_that_exist(drill: Path) -> None:
    text = drill.read_text()
    files = [CHECKOUT / path for path in re.findall(r"tests/[\w/]+\.py", text)]
    files += [SANDBOX / name for name in re.findall(r'"(test_\w+\.py)"', text)]
    assert [path for path in files if not path.is_file()] == []
    tests = "".join(path.read_text() for path in files)
    for name in re.findall(r'"(test_\w+)"', text):
        assert f"def {name}(" in tests


FLAT = [Minute(600, 10.0, 0.5, 0.7, {"worker": 100.0}, 3.0 * n, 5 * n, 2.0 * n) for n in range(6)]


@pytest.mark.parametrize(
    ("minute", "fault"),
    [
        (FLAT[5], []),
        (replace(FLAT[5], rate=5.0), ["the rate fell from 10.0 to 7.5 matches/s"]),
        (
            replace(FLAT[5], memory={"worker": 300.0}),
            ["the memory of worker grew from 100 to 200 MiB"],
        ),
        (
            replace(FLAT[5], rating_delay=60.0),
            ["ratings fell behind: 0.5 s at first, 30.2 s at the end"],
        ),
        (replace(FLAT[5], blobs_mib=40.0), ["a match took 3.4, then 29.0 KiB of blobs"]),
    ],
)
def test_an_hour_at_full_speed_is_flat_or_says_what_grew(minute: Minute, fault: list[str]) -> None:
    assert faults_of([*FLAT[:5], minute]) == fault
