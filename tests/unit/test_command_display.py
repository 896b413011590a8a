"""Commands print tables as rich does, and start without libraries that they do not use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from rich.console import Console

from services.cli import display

COLUMNS = ["rank", "team", "score", "medal"]
ROWS: list[list[object]] = [
    [1, "Flood", 1200.04, None],
    [12, "a team with a long name", 7.0, "gold (likely 80%)"],
    [None, "ent_01m85138ff20b5sc51ax2s9faz", None, ""],
]
STARTED = """
import sys
from services.cli.__main__ import main
sys.argv = ["peck", "leaderboard", "geese"]
try:
    main()
except SystemExit:
    print(sorted({"click", "httpx", "pydantic", "pygments", "rich"} & sys.modules.keys()))
"""


def test_a_table_that_fits_looks_as_rich_prints_it() -> None:
    rich = Console(width=200, highlight=False, markup=False, soft_wrap=True, color_system=None)
    with rich.capture() as said:
        rich.print(display.rich_table(COLUMNS, ROWS))
    assert display.plain_lines(COLUMNS, ROWS) == said.get().splitlines()


@pytest.mark.parametrize("text", ["Füße", "名"])
def test_other_characters_are_left_to_rich(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert display.plain_lines(COLUMNS, [[1, text, 1.0, None]]) == []
    monkeypatch.setattr(display, "WIDE", 40)
    display.table(COLUMNS, [[1, text, 1.0, None]])
    assert "score" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a b"),
        ("\x1b[31mred", "[31mred"),
        ("a\rb\x9bc\u202ed\ud800", "abcd"),
        ("a\u00a0b", "a b"),
    ],
)
def test_cell_has_no_control_characters(text: str, shown: str) -> None:
    assert display.cell_text(text) == shown


def test_a_table_that_does_not_fit_is_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "WIDE", 40)
    display.table(["team"], [["x" * 50]])
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "team",
        "x" * 40,
        "x" * 10,
    ]


def test_a_command_imports_no_library_that_it_does_not_use() -> None:
    environment = {**os.environ, "PECK_URL": "http://127.0.0.1:1"}
    said = subprocess.run(
        [sys.executable, "-c", STARTED], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "['httpx']", said.stderr
