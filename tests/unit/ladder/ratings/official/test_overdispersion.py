from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.message_passing import build_graph
from ladder.ratings.official.overdispersion import (
    DOUBT,
    HIGH,
    LOW,
    TIE,
    MetPairs,
    count_pairs,
    difference_deviation,
    kappa,
    opponent_concentration,
    sorted_meetings,
    tie_share,
)
from ladder.ratings.official.truncated_gaussian import tie_moments, win_moments
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


def test_kappa_counts_wins_losses_and_ties_of_each_pair() -> None:
    mu, margin = np.array([0.0, 0.4, -0.3]), 0.3
    seats = [[0, 1]] * 40 + [[1, 2]] * 30 + [[0, 2]] * 20
    ranks = [[1, 2]] * 30 + [[1, 1]] + [[2, 1]] * 9 + [[2, 1]] * 30 + [[1, 1]] * 5 + [[1, 2]] * 15
    games = [(who, rank, [False, False]) for who, rank in zip(seats, ranks, strict=True)]
    pairs = met_pairs(table(*games), 3)
    room = measured = 0.0
    for low, high, won, lost, tied in (0, 1, 30, 9, 1), (1, 2, 0, 30, 0), (0, 2, 15, 0, 5):
        t, m = np.array([mu[low] - mu[high]]) / 2**0.5, np.array([margin]) / 2**0.5
        ahead, behind, level = win_moments(t - m), win_moments(-t - m), tie_moments(t, m)
        scores = [float(ahead[0][0])] * won + [-float(behind[0][0])] * lost
        scores += [float(level[0][0])] * tied
        known = [float(ahead[1][0])] * won + [float(behind[1][0])] * lost
        known += [float(level[1][0])] * tied
        measured += (sum(scores) ** 2 - sum(each**2 for each in scores)) / 2
        room += (sum(known) ** 2 - sum(each**2 for each in known)) / 4
    square, noise = measured / room, (2 / room) ** 0.5
    expected = (square - (DOUBT * noise) ** 2 / square) ** 0.5
    assert kappa(pairs, mu, np.zeros(3), margin) == pytest.approx(expected)
