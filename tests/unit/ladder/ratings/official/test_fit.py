from __future__ import annotations

import numpy as np
import pytest
import trueskill
from hypothesis import given, settings
from hypothesis import strategies as st

from ladder.ratings.official.fit import SWEEPS, Fit, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior
from tests.unit.ladder.ratings.official.worlds import (
    Floats,
    known,
    play,
    ranked,
    table,
)

POINT = 1.0 / 150.0
HALF = 0.5 * POINT


def skills(seed: int, n: int, spread: float = 1.0) -> Floats:
    drawn = np.random.default_rng(seed).normal(0.0, spread, n)
    centred: Floats = drawn - drawn.mean()
    return centred


def by_package(prior: Prior, ranks: list[int], draw: float) -> tuple[Floats, Floats]:
    """The trueskill package's result for one game."""
    environment = trueskill.TrueSkill(0.0, 1.0, 1.0, 0.0, draw)
    pairs = zip(prior.mean, prior.sd, strict=True)
    rated = environment.rate(
        [(environment.create_rating(m, s),) for m, s in pairs], ranks=ranks, min_delta=1e-9
    )
    return np.array([r.mu for (r,) in rated]), np.array([r.sigma for (r,) in rated])


def spearman(one: Floats, two: Floats) -> float:
    off = [values.argsort().argsort() - (len(values) - 1) / 2.0 for values in (one, two)]
    return float((off[0] * off[1]).sum() / (off[0] ** 2).sum())


@settings(max_examples=30, deadline=None)
@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(0.1, 1.5), st.floats(0.1, 1.5), st.booleans())
def test_a_duel_rating_matches_trueskill(
    one: float, two: float, sd_one: float, sd_two: float, tie: bool
) -> None:
    prior, ranks = known([one, two], [sd_one, sd_two]), [1, 1 if tie else 2]
    result = fit(table(([0, 1], ranks, [False, False])), prior, draw_probability=0.1)
    mu, sigma = by_package(prior, ranks, 0.1)
    assert result.mu == pytest.approx(mu, abs=1e-6)
    assert result.sigma == pytest.approx(sigma, abs=1e-6)


@pytest.mark.parametrize("ranks", [[1, 2, 3], [4, 1, 3, 2], [1, 2, 2, 4], [1, 1, 1, 4, 5, 5]])
def test_a_multiplayer_rating_matches_trueskill(ranks: list[int]) -> None:
    rng = np.random.default_rng(len(ranks))
    k = len(ranks)
    prior = known(list(rng.normal(0, 1, k)), list(rng.uniform(0.4, 1.3, k)))
    result = fit(
        table((list(range(k)), ranks, [False] * k)), prior, draw_probability=0.1, tolerance=1e-9
    )
    mu, sigma = by_package(prior, ranks, 0.1)
    assert result.mu == pytest.approx(mu, abs=2e-6)
    assert result.sigma == pytest.approx(sigma, abs=2e-6)


def test_known_skills_are_recovered_with_calibrated_intervals() -> None:
    inside, n, seeds = 0, 60, range(6)
    for seed in seeds:
        truth = skills(seed, n)
        result = fit(play(seed, truth, 20 * n), Prior.unknown(n))
        assert spearman(truth, result.mu) > 0.97
        assert result.spread == pytest.approx(truth.std(), abs=0.15)
        off = truth - (result.mu - result.mu.mean())
        inside += int((abs(off) < 1.96 * result.sigma).sum())
    assert 0.93 <= inside / (n * len(seeds)) <= 0.985
    assert result.kappa < 0.15


def test_ties_and_empty_seats_do_not_distort_the_skills() -> None:
    truth = skills(3, 60)
    games = play(3, truth, 1500, grain=0.3)
    rng = np.random.default_rng(0)
    alone = GameTable(
        np.where(rng.random(games.contenders.shape) < 0.2, -1, games.contenders).astype(np.int32),
        games.ranks,
        games.faults,
    )
    for log in (games, alone):
        result = fit(log, Prior.unknown(60))
        assert spearman(truth, result.mu) > 0.96


def same(one: Fit, two: Fit, tolerance: float = HALF) -> bool:
    return bool(
        np.abs(one.mu - two.mu).max() < tolerance
        and np.abs(one.sigma - two.sigma).max() < tolerance
        and np.abs(one.shown_sigma - two.shown_sigma).max() < tolerance
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


def test_given_means_fix_the_rating_scale() -> None:
    n = 30
    games = play(11, skills(11, n), 900)
    free = fit(games, Prior.unknown(n))
    prior = Prior.unknown(n)
    prior.mean[:3], prior.sd[:3] = free.mu[:3] + 5.0, 0.05
    held = fit(games, prior)
    assert held.mu == pytest.approx(free.mu + 5.0, abs=0.1)
    assert held.centre == pytest.approx(5.0, abs=0.3)


def test_unconnected_groups_have_the_same_centre() -> None:
    truth = skills(12, 20)
    games = play(12, truth, 300)
    apart = GameTable(
        np.concatenate([games.contenders, games.contenders + 20]).astype(np.int32),
        np.concatenate([games.ranks, games.ranks]),
        np.concatenate([games.faults, games.faults]),
    )
    result = fit(apart, Prior.unknown(40))
    assert result.mu[:20] == pytest.approx(result.mu[20:], abs=1e-9)
    assert result.mu.mean() == pytest.approx(0.0, abs=0.05)


def test_without_games_the_fit_equals_the_prior() -> None:
    for n in (0, 1, 5):
        result = fit(GameTable.empty(4), Prior.unknown(n))
        assert result.mu.tolist() == [0.0] * n
        assert result.sigma == pytest.approx(1.0)
        assert result.kappa == 0.0
    alone = fit(table(([0, -1], [1, 1], [False, False])), Prior.unknown(1))
    assert alone.mu.tolist() == [0.0]


@pytest.mark.parametrize("count", [1, 50, 3000])
def test_a_contender_that_lost_every_game_has_a_finite_rating(count: int) -> None:
    rows = [([i % 5, 5], [1, 2], [False, False]) for i in range(count)]
    result = fit(table(*rows), Prior.unknown(6))
    assert np.isfinite(result.mu).all()
    assert np.isfinite(result.shown_sigma).all()
    assert result.mu.argmin() == 5


@pytest.mark.parametrize("gap", [10.0, 60.0, 1000.0])
@pytest.mark.parametrize("ranks", [[1, 2], [1, 1]])
def test_an_upset_of_any_size_gives_finite_ratings(gap: float, ranks: list[int]) -> None:
    rows = [([0, 1], ranks, [False, False])] * 3
    result = fit(table(*rows), known([0.0, gap], [0.5, 0.5]), draw_probability=0.05)
    assert np.isfinite(result.mu).all()
    assert np.isfinite(result.sigma).all()
    assert (result.sigma > 0.0).all()
    assert result.mu[0] > 0.0
    assert result.mu[1] < gap


def test_intransitive_pairs_widen_the_intervals() -> None:
    truth = skills(13, 40)
    for seats, games in ((2, 40_000), (4, 6_000)):
        plain = fit(play(13, truth, games, seats), Prior.unknown(40))
        assert plain.kappa < 0.08
        strange = fit(play(13, truth, games, seats, kappa=0.2), Prior.unknown(40))
        assert strange.kappa == pytest.approx(0.2, abs=0.05)
        assert (strange.shown_sigma > strange.sigma).all()


@st.composite
def seasons(draw: st.DrawFn) -> tuple[GameTable, Prior]:
    """Small leagues of every kind."""
    n, seats, count = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    who = np.stack([rng.permutation(max(n, seats))[:seats] for _ in range(count)] or [np.arange(0)])
    who = who.reshape(count, seats)
    games = GameTable(
        np.where(who < n, who, -1).astype(np.int32),
        rng.integers(1, 1 + draw(st.integers(1, 6)), who.shape).astype(np.int16),
        rng.random(who.shape) < draw(st.sampled_from([0.0, 0.2, 1.0])),
    )
    age, someone = rng.permutation(n), rng.integers(0, n, n)
    parent = np.where((rng.random(n) < 0.3) & (age[someone] < age), someone, -1).astype(np.int32)
    prior = Prior(
        np.where(rng.random(n) < 0.3, rng.normal(0.0, 3.0, n), np.nan),
        np.where((rng.random(n) < 0.3) & (parent < 0), rng.uniform(0.01, 3.0, n), np.nan),
        parent,
    )
    return games, prior


@settings(max_examples=75, deadline=None)
@given(seasons(), st.sampled_from([None, 0.0, 0.05, 0.9]))
def test_every_season_gives_finite_numbers(
    season: tuple[GameTable, Prior], draw_probability: float | None
) -> None:
    result = fit(*season, draw_probability=draw_probability)
    for values in (result.mu, result.sigma, result.shown_sigma):
        assert np.isfinite(values).all()
    assert (result.sigma > 0.0).all()
    assert (result.shown_sigma >= result.sigma - 1e-12).all()
    assert np.isfinite([result.kappa, result.spread, result.centre]).all()
    again = fit(*season, draw_probability=draw_probability, warm=result.messages)
    assert np.isfinite(again.mu).all()


def test_frequent_ties_do_not_shrink_the_skill_spread() -> None:
    truth = skills(14, 60)
    games = play(14, truth, 2500, grain=1.0)
    result = fit(games, Prior.unknown(60))
    assert result.spread == pytest.approx(truth.std(), abs=0.12)
    off = truth - (result.mu - result.mu.mean())
    assert (abs(off) < 1.96 * result.sigma).mean() > 0.85


def test_a_season_of_ties_gives_equal_ratings() -> None:
    games = GameTable(
        np.tile(np.arange(4, dtype=np.int32), (50, 1)),
        ranked(np.zeros((50, 4))),
        np.zeros((50, 4), np.bool_),
    )
    result = fit(games, Prior.unknown(4))
    assert result.mu == pytest.approx(0.0, abs=1e-6)
    again = fit(games, Prior.unknown(4), warm=result.messages)
    assert again.sigma == pytest.approx(result.sigma, abs=HALF / 10)
