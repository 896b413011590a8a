"""Each drill of ``scripts/drill`` names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
