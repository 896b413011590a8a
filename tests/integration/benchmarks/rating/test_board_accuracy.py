from __future__ import annotations

import numpy as np
import pytest

from benchmarks.rating.baselines import View
from benchmarks.rating.board_accuracy import games_until, places, snapshot, spearman


def test_a_perfect_leaderboard_has_no_errors() -> None:
    truth = np.linspace(-2, 2, 100)
    shot = snapshot(10, View(truth + 5, np.full(100, 1e-9), truth), truth, seed=1)
    assert (shot.rho, shot.medal_error, shot.sealed_wrong) == (1, 0, 0)
    assert shot.sealed == 40
    assert shot.rank_cover == shot.score_cover == shot.top_ten == 1


def test_a_reversed_leaderboard_has_only_errors() -> None:
    truth = np.linspace(-2, 2, 100)
    shot = snapshot(10, View(-truth, np.full(100, 1e-9), -truth), truth, seed=1)
    assert (shot.rho, shot.medal_error) == (-1, 1)
    assert shot.sealed_wrong == shot.sealed == 40
    assert shot.rank_cover < 0.03


def test_agents_closer_than_the_tie_count_as_equal() -> None:
    truth = np.linspace(-2, 2, 100)
    order = truth.copy()
    order[[89, 90]] = order[[90, 89]]  # the eleventh shown as the tenth
    view = View(order, np.full(100, 1e-9), order)
    assert snapshot(1, view, truth, seed=1).sealed_wrong == 1
    assert snapshot(1, view, truth, seed=1, equal_within=0.05).sealed_wrong == 0


def test_rho_is_the_rank_correlation() -> None:
    rng = np.random.default_rng(5)
    first, second = places(rng.random(30)), places(rng.random(30))
    assert spearman(first, second) == pytest.approx(np.corrcoef(first, second)[0, 1])


def test_games_needed_are_interpolated_on_a_log_scale() -> None:
    games = [10.0, 20.0, 40.0]
    assert games_until(games, [0.4, 0.2, 0.1], 0.1) == 40
    assert games_until(games, [0.4, 0.2, 0.05], 0.1) == pytest.approx(20 * 2**0.5)
    assert games_until(games, [0.4, 0.2, 0.15], 0.1) is None
    assert games_until(games, [0.05, 0.2, 0.15], 0.1) == 10
