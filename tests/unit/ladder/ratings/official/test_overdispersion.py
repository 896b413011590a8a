from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.message_passing import build_graph
from ladder.ratings.official.overdispersion import (
    HIGH,
    LOW,
    TIE,
    MetPairs,
    count_pairs,
    difference_deviation,
    opponent_concentration,
    sorted_meetings,
    tie_share,
)
from tests.unit.ladder.ratings.official.worlds import table

GAMES = table(
    ([2, 0, 1], [1, 2, 2], [False, False, False]),
    ([0, 1, 2], [1, 2, 3], [False, False, True]),
    ([1, 0, -1], [3, 2, 1], [False, False, False]),
)


def met_pairs(games: GameTable, n: int) -> MetPairs:
    return count_pairs(sorted_meetings(build_graph(games), n), n)


def test_meetings_with_faults_are_not_counted() -> None:
    keys = sorted_meetings(build_graph(GAMES), 4)
    pairs = count_pairs(keys, 4)
    met = dict(
        zip(zip(pairs.low.tolist(), pairs.high.tolist(), strict=True), pairs.meetings, strict=True)
    )
    assert met == {(0, 1): 3, (0, 2): 1, (1, 2): 1}
    assert pairs.low[pairs.often].tolist() == [0]
    assert pairs.outcomes[[LOW, HIGH, TIE], 0].tolist() == [2, 0, 1]
    assert pairs.played.tolist() == [4, 4, 2, 0]
    assert tie_share(keys) == pytest.approx(1 / 5)


def test_a_contender_with_one_opponent_keeps_the_full_pair_overdispersion() -> None:
    shares = opponent_concentration(met_pairs(GAMES, 4))
    assert shares == pytest.approx([(9 + 1) / 16, (9 + 1) / 16, 0.5, 0.0])
    duel = table(([0, 1], [1, 2], [False, False]))
    assert opponent_concentration(met_pairs(duel, 2)).tolist() == [1.0, 1.0]


def test_performance_width_includes_luck_skill_and_uncertainty() -> None:
    pairs = met_pairs(table(([0, 1], [1, 2], [False, False])), 2)
    known = difference_deviation(pairs, np.array([0.0, 3.0]), np.zeros(2))
    assert known == pytest.approx((2 + 9) ** 0.5)
    assert difference_deviation(pairs, np.zeros(2), np.array([1.0, 2.0])) == pytest.approx(
        (2 + 1 + 4) ** 0.5
    )
