from __future__ import annotations

from math import pi, sqrt

import pytest

from benchmarks.rating.information_limits import fewest_games
from ladder.matches.pairing.information_gain import fisher_information


def test_the_limit_of_the_order_follows_the_formula_for_many_games() -> None:
    """A rank has the variance density^2 / (games * information), so games follow the density."""
    mean_density = 1 / (2 * sqrt(pi))
    expected = 6 * mean_density**2 / (fisher_information(4) * 0.01)
    assert fewest_games(1000, 4, order=0.01) == pytest.approx(expected, rel=0.05)


def test_two_aims_need_more_games_than_each_and_fewer_than_their_sum() -> None:
    order, medals = fewest_games(200, 4, order=0.01), fewest_games(200, 4, medals=0.1)
    both = fewest_games(200, 4, order=0.01, medals=0.1)
    assert max(order, medals) < both < order + medals


def test_more_seats_need_fewer_games() -> None:
    assert fewest_games(100, 8, order=0.05) < fewest_games(100, 2, order=0.05)
