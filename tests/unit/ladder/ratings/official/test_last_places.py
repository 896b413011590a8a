"""Last places of one contender in games with another, with known skills."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.throwers import LastPlaces, count_last_places

THROWER, FAVOURITE = 0, 1
KNOWN = np.array([1.0, 0.0, 0.2, 0.4, 0.0]), np.full(5, 0.05)
"""Means and deviations of five contenders."""


def table(
    games: list[list[int]], ranks: list[list[int]], faults: list[list[bool]] | None = None
) -> GameTable:
    given = np.zeros(np.shape(games)) if faults is None else faults
    return GameTable(
        np.array(games, np.int32), np.array(ranks, np.int16), np.array(given, np.bool_)
    )


def last_places(
    games: GameTable, skills: tuple[NDArray[np.float64], NDArray[np.float64]] = KNOWN
) -> LastPlaces:
    who = np.array([FAVOURITE, THROWER])
    return count_last_places(games, who, who[::-1], skills, 0.0)


def test_only_last_places_with_the_favourite_count() -> None:
    games = table(
        [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2, -1]],
        [[4, 1, 2, 3], [1, 2, 3, 4], [4, 1, 2, 3], [1, 2, 3, 4], [3, 2, 1, 1]],
    )
    found = last_places(games)
    assert found.last.tolist() == [0.0, 3.0]
    assert found.games.tolist() == [0.0, 4.0]


def test_a_shared_last_place_and_a_game_of_two_do_not_count() -> None:
    games = table([[0, 1, 2, 3], [0, 1, -1, -1]], [[3, 1, 2, 3], [2, 1, 1, 1]])
    assert last_places(games).last.tolist() == [0.0, 0.0]


def test_games_with_a_fault_of_either_do_not_count() -> None:
    ranks = [[4, 1, 2, 3]] * 4
    faults = np.zeros((4, 4), np.bool_).tolist()
    faults[0][0] = faults[1][1] = faults[2][2] = True
    found = last_places(table([[0, 1, 2, 3]] * 4, ranks, faults))
    assert found.last.tolist() == [0.0, 2.0]


def test_a_contender_that_often_comes_last_elsewhere_is_less_suspect() -> None:
    beside = table([[0, 1, 2, 3]] * 3, [[4, 1, 2, 3]] * 3)
    strong, erratic = (
        table([[0, 1, 2, 3]] * 3 + [[0, 2, 3, 4]] * 40, [[4, 1, 2, 3]] * 3 + elsewhere)
        for elsewhere in ([[1, 2, 3, 4]] * 40, [[1, 2, 3, 4]] * 20 + [[4, 3, 2, 1]] * 20)
    )
    expected = [last_places(games).expected[1] for games in (beside, strong, erratic)]
    assert expected[0] == pytest.approx(expected[1])
    assert expected[2] > 2 * expected[1]


@pytest.mark.parametrize("strength", [-1.0, 0.0, 1.5])
def test_the_expected_number_is_that_of_simulated_games(strength: float) -> None:
    rng = np.random.default_rng(1)
    skills = np.concatenate([[strength], KNOWN[0][1:]]), KNOWN[1]
    shown = skills[0][:4] + rng.standard_normal((4000, 4))
    ranks = 1 + (shown[:, None, :] > shown[:, :, None]).sum(axis=2)
    found = last_places(table([[0, 1, 2, 3]] * 4000, ranks.tolist()), skills)
    expected = float(found.expected[1])
    assert found.last[1] == pytest.approx(expected, abs=4 * expected**0.5)


def test_games_of_two_seats_have_no_last_places() -> None:
    found = last_places(table([[0, 1]] * 3, [[2, 1]] * 3))
    assert found.last.tolist() == [0.0, 0.0]
    assert found.games.tolist() == [0.0, 0.0]
