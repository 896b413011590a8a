"""What faults and disqualifications change in a fit."""

from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.fit import SWEEPS, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior
from tests.unit.ladder.ratings.official.worlds import (
    by_package,
    known,
    play,
    ranked,
    same,
    skills,
    spearman,
    table,
)


def test_a_disqualified_contender_does_not_affect_the_fit() -> None:
    n = 20
    games = play(8, skills(8, n), 300, fault_rate=0.1)
    out = np.arange(n) < 2
    result = fit(games.without(out), Prior.unknown(n))
    rows = [
        [(c, r, f) for c, r, f in zip(*row, strict=True) if not out[c]]
        for row in zip(games.contenders, games.ranks, games.faults, strict=True)
    ]
    # The same table without them: fewer seats in some games, in other columns.
    anew = table(
        *(
            (
                [c for c, _, _ in row] + [-1] * (4 - len(row)),
                [r for _, r, _ in row] + [0] * (4 - len(row)),
                [f for _, _, f in row] + [False] * (4 - len(row)),
            )
            for row in rows
        )
    )
    other = fit(anew, Prior.unknown(n))
    assert same(result, other, 1e-9)
    assert result.sigma[out] == pytest.approx(result.spread)


def test_a_faulty_seat_lowers_only_the_faulty_agents_rating() -> None:
    prior = known([0.3, -0.2, 0.5, 0.1], [0.7, 0.6, 0.5, 0.8])
    faulty = table(([0, 1, 2, 3], [2, 1, 4, 3], [False, False, False, True]))
    without = table(([0, 1, 2, -1], [2, 1, 4, 3], [False, False, False, False]))
    result = fit(faulty, prior, draw_probability=0.1, tolerance=1e-9)
    others = fit(without, prior, draw_probability=0.1, tolerance=1e-9)
    assert result.mu[:3] == pytest.approx(others.mu[:3], abs=1e-9)
    assert result.sigma[:3] == pytest.approx(others.sigma[:3], abs=1e-9)
    mu, sigma = by_package(prior, [2, 1, 3, 4], 0.1)
    assert result.mu[3] == pytest.approx(mu[3], abs=0.02)
    assert result.sigma[3] == pytest.approx(sigma[3], abs=0.02)
    assert result.mu[3] < prior.mean[3]


def test_faulty_seats_do_not_affect_other_ratings() -> None:
    prior = known([0.0, 0.1, 0.2], [0.7, 0.6, 0.5])
    result = fit(table(([0, 1, 2], [1, 2, 2], [False, True, True])), prior)
    assert result.mu[0] == pytest.approx(0.0, abs=1e-12)
    assert result.mu[1] < 0.1
    assert result.mu[2] < 0.2
    for one, other in ((1, 2), (2, 1)):
        alone = fit(table(([0, one], [1, 2], [False, True])), prior)
        assert result.mu[one] == pytest.approx(alone.mu[one], abs=1e-6)
        assert alone.mu[other] == pytest.approx(prior.mean[other], abs=1e-12)
    everybody = fit(table(([0, 1, 2], [1, 2, 3], [True] * 3)), prior)
    assert everybody.mu == pytest.approx(prior.mean, abs=1e-12)


def test_faults_of_a_contender_do_not_change_the_skills_of_others() -> None:
    truth = skills(10, 30)
    games = play(10, truth, 900)
    faults = (games.contenders < 5) & (np.random.default_rng(10).random(games.ranks.shape) < 0.9)
    failed = GameTable(games.contenders, games.ranks, faults)
    absent = GameTable(
        np.where(faults, np.int32(-1), games.contenders), games.ranks, np.zeros_like(faults)
    )
    result, without = (fit(each, Prior.unknown(30)) for each in (failed, absent))
    assert result.clean_mu == pytest.approx(without.mu, abs=0.002)
    gaps = np.diff(result.mu[5:])
    assert gaps == pytest.approx(np.diff(without.mu[5:]), abs=0.01)
    assert (result.mu[:5] < without.mu[:5] - 1.0).all()


def test_contenders_that_meet_almost_only_failing_ones_keep_their_rating() -> None:
    """The faults of others once lowered their means without limit."""
    rng, count = np.random.default_rng(14), 60
    truth = skills(14, count)
    failing, weak = np.arange(10), np.argsort(truth[10:])[:2] + 10
    others = np.setdiff1d(np.arange(10, count), weak)
    low = np.array(
        [[*rng.choice(failing, 3, replace=False), weak[n % 2]] for n in range(120)], np.int32
    )
    high = rng.permuted(np.tile(others, (600, 1)), axis=1)[:, :4]
    links = np.array([[weak[n % 2], *rng.choice(others, 3, replace=False)] for n in range(12)])
    who = np.concatenate([low, high, links]).astype(np.int32)
    faults = np.isin(who, failing) & (rng.random(who.shape) < 0.9)
    games = GameTable(who, ranked(truth[who] + rng.standard_normal(who.shape)), faults)
    result = fit(games, Prior.unknown(count))
    assert result.sweeps < SWEEPS
    assert result.spread < 1.5
    middle = result.mu[others].mean() - truth[others].mean()
    assert result.mu[weak] - middle == pytest.approx(truth[weak], abs=1.0)


def test_a_contender_with_only_faults_is_behind_the_others_of_its_games() -> None:
    games = table(*[([0, 1, 2], [1, 2, 2], [False, True, True])] * 3)
    result = fit(games, Prior.unknown(3))
    assert result.mu[0] > 0.0 > result.mu[1]
    assert result.mu[1] == pytest.approx(result.mu[2])
    assert result.mu.mean() == pytest.approx(0.0, abs=1e-6)


def test_a_fault_against_another_group_moves_no_clean_skill() -> None:
    truth, prior = skills(15, 10), Prior.unknown(20)
    truth[1:5] = truth[0] + 2.0
    prior.parent[1:5] = 0
    here, there = play(15, truth, 300), play(16, skills(16, 10), 300)
    who = np.concatenate([here.contenders, there.contenders + 10, [[0, 10, 11, 12]]])
    ranks = np.concatenate([here.ranks, there.ranks, [[1, 2, 3, 4]]])
    faults = np.zeros(who.shape, np.bool_)
    apart = fit(GameTable(who[:-1].astype(np.int32), ranks[:-1], faults[:-1]), prior)
    faults[-1, 0] = True
    linked = fit(GameTable(who.astype(np.int32), ranks, faults), prior)
    assert linked.clean_mu[:10] == pytest.approx(apart.mu[:10], abs=0.002)
    assert linked.clean_mu[10:].mean() == pytest.approx(apart.mu[10:].mean(), abs=0.01)


def test_faults_do_not_shift_ratings_away_from_newcomers() -> None:
    truth = skills(9, 40)
    result = fit(play(9, truth, 2000, fault_rate=0.1), Prior.unknown(41))
    assert result.mu[:40].mean() == pytest.approx(result.mu[40], abs=0.1)
    assert spearman(truth, result.mu[:40]) > 0.95
    assert result.spread < 1.5
