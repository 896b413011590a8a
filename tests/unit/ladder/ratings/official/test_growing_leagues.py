"""Fits leagues that grow, as the service does: each fit continues the one before."""

from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.fit import SWEEPS, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior
from tests.unit.ladder.ratings.official.worlds import play

POINT = 1 / 150
"""In beta."""


def growing_league(seed: int) -> tuple[GameTable, Prior]:
    """A league with late arrivals, resubmissions, faults and perhaps ties.

    At first, only the lower half of the numbers play.
    """
    rng = np.random.default_rng(seed)
    n, seats = int(rng.choice([12, 80, 200])), int(rng.integers(2, 6))
    prior, truth = Prior.unknown(n), rng.normal(0.0, rng.choice([0.5, 2.0]), n)
    for heir in np.flatnonzero(rng.random(n) < 0.4).tolist():
        if heir:
            prior.parent[heir] = rng.integers(0, heir)
            truth[heir] = truth[prior.parent[heir]] + rng.normal(0.0, 1.0)
    grain, games = float(rng.choice([0.0, 1.0])), n * int(rng.choice([1, 3, 10]))
    early = play(seed, truth[: n // 2], games // 2, grain=grain, seats=seats, fault_rate=0.1)
    late = play(seed + 1, truth, games, grain=grain, seats=seats, fault_rate=0.1)
    columns = zip(*((g.contenders, g.ranks, g.faults) for g in (early, late)), strict=True)
    return GameTable(*(np.concatenate(column) for column in columns)), prior


@pytest.mark.parametrize("seed", range(12))
def test_repeated_warm_fits_and_a_cold_fit_reach_the_exact_result(seed: int) -> None:
    games, prior = growing_league(seed)
    exact, cold, warm = fit(games, prior, tolerance=1e-9), fit(games, prior), None
    size = len(games) // 3
    while size < len(games):
        size = min(len(games), max(size + 1, int(1.1 * size)))
        warm = fit(games.take(slice(0, size)), prior, warm=warm.messages if warm else None)
    assert warm is not None
    for result in (cold, warm):
        assert result.sweeps < SWEEPS
        assert np.abs(result.mu - exact.mu).max() < 0.4 * POINT
        assert np.abs(result.sigma - exact.sigma).max() < 0.4 * POINT


@pytest.mark.parametrize("seed", [3, 7])
def test_the_spread_of_a_league_with_one_duel_an_entry_stays_plausible(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 200
    prior, truth = Prior.unknown(n), rng.normal(0.0, 1.0, n)
    for heir in range(60, n, 2):
        prior.parent[heir] = rng.integers(0, heir)
        truth[heir] = truth[prior.parent[heir]] + rng.normal(0.0, 0.3)
    games, warm = play(seed, truth, n, seats=2), None
    for size in range(60, n + 1, 10):
        warm = fit(games.take(slice(0, size)), prior, warm=warm.messages if warm else None)
    assert warm is not None
    assert warm.spread < 2.5


def test_a_warm_fit_that_does_not_settle_is_replaced_by_a_cold_one() -> None:
    games, prior = growing_league(1)
    broken = fit(games.take(slice(0, 200)), prior).messages
    broken.league.mu[:] = np.nan
    cold, warm = fit(games, prior), fit(games, prior, warm=broken)
    assert warm.mu.tobytes() == cold.mu.tobytes()
