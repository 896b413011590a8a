from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.game_table import GameTable


def test_columns_of_different_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="one row a game"):
        GameTable(
            np.zeros((2, 4), np.int32), np.zeros((2, 3), np.int16), np.zeros((2, 4), np.bool_)
        )


def test_seats_of_removed_contenders_are_empty() -> None:
    games = GameTable(
        np.array([[0, 1, 2], [2, -1, 1]], np.int32),
        np.array([[1, 2, 3], [1, 1, 2]], np.int16),
        np.array([[False, True, False], [True, False, False]]),
    )
    left = games.without(np.array([False, False, True]))
    assert left.contenders.tolist() == [[0, 1, -1], [-1, -1, 1]]
    assert left.faults.tolist() == [[False, True, False], [False, False, False]]
