"""A configuration is checked as the peer's schema checks it, and the error names the field."""

from __future__ import annotations

from typing import Any

import pytest

from games.hungry_geese import GAME
from games.protocol import ConfigurationError

STANDARD = {
    "episodeSteps": 200,
    "actTimeout": 1,
    "runTimeout": 1200,
    "columns": 11,
    "rows": 7,
    "hunger_rate": 40,
    "min_food": 2,
    "max_length": 99,
}


def test_the_standard_configuration_matches_kaggle() -> None:
    assert GAME.configure({}) == STANDARD


def test_a_null_override_means_the_default() -> None:
    assert GAME.configure({"rows": 9, "columns": None}) == {**STANDARD, "rows": 9}


def test_a_whole_float_counts_as_an_integer() -> None:
    rows = GAME.configure({"rows": 9.0})["rows"]
    assert rows == 9
    assert isinstance(rows, int)


def test_a_time_may_be_a_fraction() -> None:
    assert GAME.configure({"actTimeout": 0.5})["actTimeout"] == 0.5


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rows", 2),
        ("columns", 2),
        ("hunger_rate", 0),
        ("min_food", 0),
        ("max_length", 0),
        ("episodeSteps", 0),
        ("actTimeout", -0.1),
        ("runTimeout", -1),
        ("rows", 7.5),
        ("rows", "7"),
        ("rows", True),
        ("rows", []),
        ("rows", float("inf")),
        ("actTimeout", float("nan")),
        ("rows", 1_000_000),
        ("agentTimeout", 1),
        ("seed", 7),
    ],
)
def test_a_wrong_configuration_field_is_named(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{field}: ") as refusal:
        GAME.configure({field: value})
    assert refusal.value.field == field
