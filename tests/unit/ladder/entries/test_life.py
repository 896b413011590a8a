"""One file makes every change of an entry's state."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[4]
OWNER: Final = ROOT / "ladder" / "entries" / "entries.sql"
SCHEMA: Final = ROOT / "ladder" / "database"
STATE: Final = (
    *("state", "reason", "pause_cause", "paused_at", "next_try_at", "deadline_at", "tries"),
    *("strikes", "struck_at", "answered", "activated_at", "validations", "validation_match_id"),
    *("taken_day", "disqualified_at", "disqualified_from"),
)
"""Columns of `entries` that belong to its state."""
UPDATE: Final = re.compile(
    r"update\s+(?:public\.)?entries\b(?:\s+(?:as\s+)?(?!set\b)\w+)?\s+set\s(.*?)(?:\bwhere\b|;|$)",
    re.IGNORECASE | re.DOTALL,
)
COLUMN: Final = re.compile(rf"\b({'|'.join(STATE)})\s*=[^>]")
FILES: Final = [
    path
    for package in ("egress", "estimates", "games", "ladder", "sandbox", "services", "workers")
    for path in sorted((ROOT / package).rglob("*"))
    if path.suffix in (".py", ".sql") and path != OWNER and SCHEMA not in path.parents
]


def changed_columns(text: str) -> set[str]:
    """The columns of an entry's state that a text of Python or SQL sets."""
    joined = re.sub(r'"\s*(?:#[^\n]*)?\n\s*f?"', "", text)  # literals that stand side by side
    return {name for part in UPDATE.findall(joined) for name in COLUMN.findall(part)}


def test_no_other_file_changes_the_state_of_an_entry() -> None:
    assert len(FILES) > 300
    changes = {
        str(path.relative_to(ROOT)): columns
        for path in FILES
        if (columns := changed_columns(path.read_text("utf-8")))
    }
    assert changes == {}


@pytest.mark.parametrize(
    "text",
    [
        "update entries set state = 'retired' where id = %s",
        "update entries e\n   set games = 1, state = 'active'\n where id = 1;",
        '    "update entries set mu = %s,"  # noqa: S608\n    " reason = %s where id = %s",',
    ],
)
def test_a_change_of_the_state_is_found(text: str) -> None:
    assert changed_columns(text)


def test_the_owner_changes_each_column_of_the_state() -> None:
    assert changed_columns(OWNER.read_text("utf-8")) == set(STATE)
