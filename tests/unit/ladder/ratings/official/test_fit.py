"""The fit: what it makes of results without faults."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ladder.ratings.official.fit import fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior
from tests.unit.ladder.ratings.official.worlds import (
    HALF_POINT,
    by_package,
    known,
    play,
    ranked,
    skills,
    spearman,
    table,
)


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
    assert again.sigma == pytest.approx(result.sigma, abs=HALF_POINT / 10)
