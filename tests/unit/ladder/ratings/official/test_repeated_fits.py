"""Fits of the same games: in another order, and continued from an earlier fit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ladder.ratings.official.fit import SWEEPS, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior
from tests.unit.ladder.ratings.official.worlds import (
    play,
    same,
    skills,
)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32))
def test_game_order_does_not_change_the_fit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 30
    games = play(seed, skills(seed, n), 300, grain=0.2, fault_rate=0.05)
    prior = Prior.unknown(n)
    prior.parent[7], prior.parent[8] = 3, 7
    first = fit(games, prior)
    assert same(first, fit(games.take(rng.permutation(len(games))), prior), 1e-6)
    number = rng.permutation(n).astype(np.int32)
    parent = np.full(n, -1, np.int32)
    parent[number[7]], parent[number[8]] = number[3], number[7]
    other = fit(
        GameTable(number[games.contenders], games.ranks, games.faults),
        Prior(prior.mean, prior.sd, parent),
    )
    assert np.abs(other.mu[number] - first.mu).max() < 1e-6


def test_the_same_games_give_a_bitwise_equal_fit() -> None:
    games = play(5, skills(5, 40), 800, grain=0.2, fault_rate=0.05)
    one, two = (fit(games, Prior.unknown(40)) for _ in range(2))
    assert one.mu.tobytes() == two.mu.tobytes()
    assert one.shown_sigma.tobytes() == two.shown_sigma.tobytes()


def test_a_warm_fit_equals_a_cold_fit() -> None:
    n = 50
    games = play(6, skills(6, n), 1000, grain=0.2, fault_rate=0.05)
    early = fit(games.take(slice(0, 900)), Prior.unknown(n))
    warm = fit(games, Prior.unknown(n), warm=early.messages)
    cold = fit(games, Prior.unknown(n))
    assert same(warm, cold)
    assert warm.sweeps < cold.sweeps


def test_a_warm_fit_of_newly_joined_groups_equals_a_cold_fit() -> None:
    truth = skills(15, 40)
    left, right = play(15, truth[:20], 400, fault_rate=0.1), play(16, truth[20:], 400)
    both = play(17, truth, 100)
    right = GameTable((right.contenders + 20).astype(np.int32), right.ranks, right.faults)
    columns = zip(*((g.contenders, g.ranks, g.faults) for g in (left, right, both)), strict=True)
    games = GameTable(*(np.concatenate(column) for column in columns))
    apart = fit(games.take(slice(0, 800)), Prior.unknown(40)).messages
    warm = fit(games, Prior.unknown(40), warm=apart)
    assert same(warm, fit(games, Prior.unknown(40)))


def test_a_league_in_which_only_close_rivals_meet_converges() -> None:
    n, rng = 400, np.random.default_rng(18)
    truth = np.sort(skills(18, n))
    first = rng.integers(0, n - 8, 2000)
    who = first[:, None] + np.argsort(rng.random((2000, 8)), axis=1)[:, :4]
    order = np.argsort(-(truth[who] + rng.standard_normal(who.shape)), axis=1)
    ranks = np.argsort(order, axis=1) + 1
    games = GameTable(who.astype(np.int32), ranks.astype(np.int16), np.zeros(who.shape, np.bool_))
    result = fit(games, Prior.unknown(n))
    assert result.sweeps < SWEEPS
    early = fit(games.take(slice(0, 1900)), Prior.unknown(n)).messages
    assert same(fit(games, Prior.unknown(n), warm=early), result)


def test_a_changed_log_is_fitted_cold() -> None:
    n = 20
    games = play(7, skills(7, n), 200)
    seen = fit(games, Prior.unknown(n)).messages
    changed = games.without(np.arange(n) == 4)
    cold = fit(changed, Prior.unknown(n))
    assert fit(changed, Prior.unknown(n), warm=seen).mu.tobytes() == cold.mu.tobytes()
