"""How much a resubmission depends on its parent."""

from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import (
    CHANGE_SCALE,
    change_variances,
    parents_to_keep,
)

PARENTS = np.array([-1, 0], np.int32)


def played(parent_faults: int, child_faults: int, games: int = 10) -> GameTable:
    """Games of a parent (0) against its child (1), with this many faults of each."""
    shape = (games, 2)
    faults = np.zeros(shape, np.bool_)
    faults[:parent_faults, 0] = True
    faults[:child_faults, 1] = True
    contenders = np.tile(np.array([0, 1], np.int32), (games, 1))
    return GameTable(contenders, np.ones(shape, np.int16), faults)


def test_a_child_with_an_unchanged_fault_rate_keeps_the_parent_link() -> None:
    assert parents_to_keep(played(0, 0), PARENTS).tolist() == [-1, 0]
    assert parents_to_keep(played(9, 8), PARENTS).tolist() == [-1, 0]


def test_a_child_with_a_changed_fault_rate_loses_the_parent_link() -> None:
    assert parents_to_keep(played(0, 9), PARENTS).tolist() == [-1, -1]
    assert parents_to_keep(played(9, 0), PARENTS).tolist() == [-1, -1]


def test_one_game_does_not_break_the_parent_link() -> None:
    one = played(0, 1, games=1)
    assert parents_to_keep(one, PARENTS).tolist() == [-1, 0]
    assert parents_to_keep(GameTable.empty(), PARENTS).tolist() == [-1, 0]


def test_the_variance_of_a_change_grows_with_the_distance_from_the_parent() -> None:
    precision = np.array([0.0, 10.0, 10.0, 10.0])
    distance = np.array([0.0, 0.0, 0.3, 1.5])
    without, same, near, far = change_variances(precision, precision * distance, np.full(4, 0.01))
    assert without == pytest.approx(CHANGE_SCALE**2)
    assert same < near < without
    assert far > 6 * without
