"""Commands print tables that fit, and start without libraries that they do not use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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


def test_numbers_of_a_table_are_aligned_right() -> None:
    assert display.table_lines(COLUMNS, ROWS) == [
        "rank  team                             score  medal            ",
        "   1  Flood                           1200.0                   ",
        "  12  a team with a long name            7.0  gold (likely 80%)",
        "      ent_01m85138ff20b5sc51ax2s9faz                           ",
    ]


@pytest.mark.parametrize(("text", "columns"), [("Füße", 4), ("名名", 4), ("e\u0301", 1)])
def test_width_of_a_text_is_that_of_a_terminal(text: str, columns: int) -> None:
    assert display.text_width(text) == columns


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


def test_id_is_never_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "WIDE", 42)
    display.table(["id", "text"], [["ent_01m85138ff20b5sc51ax2s9faz", "some words of a text"]])
    _, first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("ent_01m85138ff20b5sc51ax2s9faz  some ")


def test_a_command_imports_no_library_that_it_does_not_use() -> None:
    environment = {**os.environ, "PECK_URL": "http://127.0.0.1:1"}
    said = subprocess.run(
        [sys.executable, "-c", STARTED], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "['httpx']", said.stderr
