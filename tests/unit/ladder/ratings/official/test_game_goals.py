"""The goal of games while uploads are open."""

from __future__ import annotations

import pytest

from ladder.ratings.official.game_goals import (
    EARLY_WEIGHT,
    LATER_WEIGHT,
    MEDAL_WEIGHT,
    ORDER_GOAL,
    WRONG_GOAL,
    open_weight,
)


@pytest.mark.parametrize(
    ("order", "wrong", "weight"),
    [
        (0.0, 1.0, EARLY_WEIGHT),
        (ORDER_GOAL - 0.001, 1.0, EARLY_WEIGHT),
        (ORDER_GOAL - 0.001, 0.0, EARLY_WEIGHT),
        (ORDER_GOAL, 1.0, MEDAL_WEIGHT),
        (ORDER_GOAL, WRONG_GOAL + 0.01, MEDAL_WEIGHT),
        (ORDER_GOAL, WRONG_GOAL, LATER_WEIGHT),
        (1.0, 0.0, LATER_WEIGHT),
    ],
)
def test_games_sharpen_first_the_order_and_then_the_medals(
    order: float, wrong: float, weight: float
) -> None:
    assert open_weight(order, wrong) == weight
