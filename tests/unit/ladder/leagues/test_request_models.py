"""Bounds of the values in a request for a season."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ladder.leagues.request_models import NewSeason


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("seats", (0, 17)),
        ("daily_limit", (-1,)),
        ("scrim_games_daily", (-1, 10_001)),
        ("team_active_limit", (0, 101)),
        ("medal_confidence", (0.49, 1.0)),
    ],
)
def test_season_request_refuses_values_that_the_table_refuses(
    field: str, values: tuple[float, ...]
) -> None:
    for value in values:
        with pytest.raises(ValidationError) as refused:
            NewSeason.model_validate({field: value})
        assert [error["loc"] for error in refused.value.errors()] == [(field,)]
