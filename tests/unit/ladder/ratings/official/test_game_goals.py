"""The weight of medals while uploads are open."""

from __future__ import annotations

import pytest

from ladder.ratings.official.standing import (
    BOTH_WEIGHT,
    MANY_MEDALS,
    MEDAL_WEIGHT,
    ORDER_GAMES,
    ORDER_GOAL,
    ORDER_WEIGHT,
    WRONG_GOAL,
    open_weight,
)


@pytest.mark.parametrize(
    ("order", "games", "wrong", "weight"),
    [
        (0.0, 0.0, 1.0, ORDER_WEIGHT),
        (ORDER_GOAL - 0.001, ORDER_GAMES - 1, 1.0, ORDER_WEIGHT),
        (ORDER_GOAL, 1.0, 1.0, MEDAL_WEIGHT),
        (ORDER_GOAL - 0.1, ORDER_GAMES, 1.0, MEDAL_WEIGHT),
        (ORDER_GOAL, 1.0, WRONG_GOAL, BOTH_WEIGHT),
        (ORDER_GOAL - 0.1, 1.0, 0.0, ORDER_WEIGHT),
    ],
)
def test_the_order_comes_first_and_then_the_medals(
    order: float, games: float, wrong: float, weight: float
) -> None:
    assert open_weight(MANY_MEDALS - 0.01, order, games, wrong) == weight


@pytest.mark.parametrize(("order", "games", "wrong"), [(0.0, 0.0, 1.0), (ORDER_GOAL, 1.0, 1.0)])
def test_both_count_from_the_start_if_many_teams_hold_medals(
    order: float, games: float, wrong: float
) -> None:
    assert open_weight(MANY_MEDALS, order, games, wrong) == BOTH_WEIGHT
