from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.season_fit import (
    FINAL_WEIGHT,
    OPEN_WEIGHT,
    ORDER_GAMES,
    boundary_weight,
    fit_season,
)


@pytest.mark.parametrize(
    ("games", "is_open", "weight"),
    [
        (ORDER_GAMES - 4, True, 0.0),
        (ORDER_GAMES, True, OPEN_WEIGHT),
        (ORDER_GAMES - 4, False, FINAL_WEIGHT),
    ],
)
def test_medals_count_after_the_first_games_and_most_after_uploads_close(
    games: int, is_open: bool, weight: float
) -> None:
    pairs = np.array([*combinations(range(5), 2)] * (games // 4), np.int32)
    ranks = np.tile(np.array([1, 2], np.int16), (len(pairs), 1))
    table = GameTable(pairs, ranks, np.zeros(pairs.shape, np.bool_))
    assert boundary_weight(fit_season(table, np.full(5, -1, np.int32)), is_open) == weight
