"""How a resubmission inherits the rating of its parent in a fit."""

from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.fit import fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import CHANGE_SCALE, Prior
from tests.unit.ladder.ratings.official.worlds import (
    HALF_POINT,
    Floats,
    lineups,
    play,
    ranked,
    skills,
)


def test_a_resubmission_starts_at_the_rating_of_the_parent() -> None:
    n = 20
    games = play(10, skills(10, n), 400)
    prior = Prior.unknown(n + 1)
    prior.parent[n] = 2
    result = fit(games, prior)
    assert result.mu[n] == pytest.approx(result.mu[2], abs=HALF_POINT)
    assert result.sigma[n] == pytest.approx(np.hypot(result.sigma[2], CHANGE_SCALE), abs=HALF_POINT)
    assert result.mu[:n] == pytest.approx(fit(games, Prior.unknown(n)).mu, abs=1e-3)


def with_resubmission(truth: Floats, own_games: int, skill: float) -> GameTable:
    """400 games of these contenders, then games of another one against three of them."""
    n, rng = len(truth), np.random.default_rng(10)
    before = play(10, truth, 400)
    who = np.column_stack([lineups(rng, n, own_games, 3), np.full(own_games, n)])
    after = ranked(np.append(truth, skill)[who] + rng.standard_normal(who.shape))
    return GameTable(
        np.concatenate([before.contenders, who.astype(np.int32)]),
        np.concatenate([before.ranks, after]),
        np.concatenate([before.faults, np.zeros(who.shape, np.bool_)]),
    )


def test_the_parent_of_a_much_better_resubmission_counts_little_after_fifteen_games() -> None:
    truth = skills(10, 20)
    parent = int(np.abs(truth).argmin())
    games = with_resubmission(truth, 15, truth[parent] + 1.5)
    prior = Prior.unknown(21)
    prior.parent[20] = parent
    alone, heir = fit(games, Prior.unknown(21)), fit(games, prior)
    assert heir.mu[20] == pytest.approx(alone.mu[20], abs=0.25)
    assert heir.mu[20] - heir.mu[parent] > 1.0


@pytest.mark.parametrize("own_games", [5, 15, 40])
def test_a_bad_parent_raises_no_score(own_games: int) -> None:
    truth = skills(10, 20)
    games = with_resubmission(truth, own_games, 4.0)
    prior = Prior.unknown(21)
    prior.parent[20] = int(truth.argmin())
    alone, heir = fit(games, Prior.unknown(21)), fit(games, prior)
    assert heir.mu[20] <= alone.mu[20] + 0.01
    assert heir.sigma[20] <= alone.sigma[20] + 0.01


def test_a_warm_fit_with_parents_in_another_group_equals_a_cold_fit() -> None:
    first, second = play(10, skills(10, 6), 200), play(11, np.array([-2.0, 2.0]), 60, seats=2)
    other = np.pad(second.contenders + 6, ((0, 0), (0, 2)), constant_values=-1)
    apart = GameTable(
        np.concatenate([first.contenders, other.astype(np.int32)]),
        np.concatenate([first.ranks, np.pad(second.ranks, ((0, 0), (0, 2)))]),
        np.concatenate([first.faults, np.pad(second.faults, ((0, 0), (0, 2)))]),
    )
    prior = Prior.unknown(8)
    prior.parent[6:] = 0, 1
    begun = fit(apart.take(np.arange(210)), prior)
    warm, cold = fit(apart, prior, warm=begun.messages), fit(apart, prior)
    assert warm.mu == pytest.approx(cold.mu, abs=HALF_POINT)


def test_a_cycle_of_ancestors_is_refused() -> None:
    with pytest.raises(ValueError, match="ancestor"):
        Prior(np.full(3, np.nan), np.full(3, np.nan), np.array([1, 2, 0], np.int32))


@pytest.mark.parametrize("own_games", [1, 2, 5, 10])
def test_a_resubmission_that_fails_like_its_parent_does_not_rise(own_games: int) -> None:
    truth = skills(10, 20)
    games = with_resubmission(truth, own_games, 0.0)
    faults = (games.contenders == 2) & (np.random.default_rng(3).random(games.ranks.shape) < 0.8)
    faults |= games.contenders == 20
    prior = Prior.unknown(21)
    prior.parent[20] = 2
    result = fit(GameTable(games.contenders, games.ranks, faults), prior)
    assert result.mu[2] < result.clean_mu[2] - 0.5
    assert result.mu[20] < result.mu[2] + 0.05
