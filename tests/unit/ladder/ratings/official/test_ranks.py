from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder.ratings.official.standing import (
    Floats,
    Ranks,
    draw_ranks,
    rank_outlook,
    remaining_uncertainty,
)

SPREAD = np.random.default_rng(4).normal(0.0, 1.0, 50)


def drawn(mu: Floats, sigma: Floats, count: int, seed: int) -> Ranks:
    """Ranks in a field in which all entries are rivals."""
    everybody = np.arange(len(mu))
    return draw_ranks(mu, sigma, everybody, everybody, count, seed)


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(1, 9))
def test_each_draw_ranks_every_entry_once(seed: int, n: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    ranks = drawn(rng.normal(size=n), rng.uniform(0.0, 1.0, n), count, seed)
    assert ranks.shape == (count, n)
    assert (np.sort(ranks, axis=1) == np.arange(1, n + 1)).all()


def test_the_same_seed_draws_the_same_ranks() -> None:
    sigma = np.full(50, 0.3)
    one, two = (drawn(SPREAD, sigma, 20, 7) for _ in range(2))
    assert one.tobytes() == two.tobytes()
    assert (one != drawn(SPREAD, sigma, 20, 8)).any()


def test_an_exactly_known_skill_has_one_rank() -> None:
    ranks = drawn(SPREAD, np.full(50, 1e-9), 100, 1)
    view = rank_outlook(ranks, (5, 10))
    place = (-SPREAD).argsort().argsort() + 1
    assert (view.rank_low == place).all()
    assert (view.rank_high == place).all()
    assert (view.chances == (place[:, None] <= [5, 10])).all()
    assert remaining_uncertainty(ranks, (5, 10), 0.1) == pytest.approx(0.0)


def test_intervals_and_chances_match_the_posterior() -> None:
    mu, sigma = np.array([0.0, 1.0]), np.array([0.6, 0.8])
    ranks = drawn(mu, sigma, 20_000, 3)
    view = rank_outlook(ranks, (1,))
    # The difference is N(1, 1): the second is first with Phi(1).
    assert view.chances[:, 0] == pytest.approx([1 - 0.8413447, 0.8413447], abs=0.01)
    assert view.rank_low.tolist() == [1, 1]
    assert view.rank_high.tolist() == [2, 2]


def test_chances_sum_to_the_number_of_places() -> None:
    ranks = drawn(SPREAD, np.full(50, 0.5), 200, 5)
    assert rank_outlook(ranks, (5, 10, 20)).chances.sum(axis=0) == pytest.approx([5, 10, 20])


def test_the_loss_adds_order_and_boundary_terms() -> None:
    ranks = drawn(SPREAD, np.full(50, 0.5), 400, 6)
    order = remaining_uncertainty(ranks, (5, 10), 0.0)
    assert order == pytest.approx(6 * ranks.var(axis=0) / 50**3)
    chances = rank_outlook(ranks, (5, 10)).chances
    both = remaining_uncertainty(ranks, (5, 10), 0.3)
    assert both - order == pytest.approx(0.3 / 10 * (chances * (1 - chances)).sum(axis=1))
    assert remaining_uncertainty(ranks, (), 0.3) == pytest.approx(order)


def test_an_entry_outside_the_rivals_takes_no_rank_from_rivals() -> None:
    mu = np.array([3.0, 2.0, 1.0, 0.0])
    ranks = draw_ranks(mu, np.full(4, 1e-9), np.arange(4), np.array([1, 3]), 5, 1)
    assert (ranks == [1, 1, 2, 2]).all()


def test_identical_entries_share_one_rank_in_each_draw() -> None:
    mu, sigma = np.array([0.0, 0.0, 0.1]), np.full(3, 0.5)
    ranks = draw_ranks(mu, sigma, np.array([0, 0, 2]), np.arange(3), 200, 1)
    assert (ranks[:, 0] == ranks[:, 1]).all()
    assert set(map(tuple, ranks.tolist())) == {(1, 1, 2), (2, 2, 1)}
