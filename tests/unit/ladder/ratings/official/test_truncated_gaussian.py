from __future__ import annotations

from math import erfc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder.ratings.official.truncated_gaussian import (
    FARTHEST,
    mills_ratio,
    tie_margin,
    tie_moments,
    win_moments,
)

# (1 - Phi(x)) / phi(x) with 60 digits.
MILLS = {
    0.0: 1.25331413731550025120788264240552,
    0.1: 1.15926239961632873870905528524879,
    0.5: 0.87636445645369234672785314263985,
    1.0: 0.65567954241879847154387123073081,
    2.0: 0.42136922928805447322493433354238,
    3.0: 0.30459029871010329573361254651572,
    5.0: 0.19280810471531576487746572791752,
    8.0: 0.12313196325793229628218074351720,
    12.0: 0.08276628650136917725226505004191,
    20.0: 0.04987592598183678365824105547354,
    40.0: 0.02498440420572057114738839463311,
    100.0: 0.00999900029985010490560381506736,
}


def test_mills_ratio_is_exact_up_to_the_far_tail() -> None:
    x, exact = np.array(list(MILLS)), np.array(list(MILLS.values()))
    assert mills_ratio(x) == pytest.approx(exact, rel=1e-10)


def test_half_line_moments_match_mills_ratio() -> None:
    near = {x: ratio for x, ratio in MILLS.items() if x <= FARTHEST}
    x, exact = np.array(list(near)), np.array(list(near.values()))
    v, w = win_moments(-x)
    assert v == pytest.approx(1.0 / exact, rel=1e-10)
    assert w == pytest.approx((1.0 / exact) * (1.0 / exact - x), abs=2e-7)
    density = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
    v, w = win_moments(x)
    assert v == pytest.approx(density / (1.0 - density * exact), rel=1e-9, abs=1e-300)
    assert w == pytest.approx(v * (v + x), abs=1e-10)


def test_half_line_moments_are_accurate_between_the_points_of_the_table() -> None:
    t = np.linspace(-8.0, 8.0, 9973)
    below = np.array([erfc(-each / 2**0.5) / 2 for each in t.tolist()])
    exact = np.exp(-0.5 * t * t) / (2 * np.pi) ** 0.5 / below
    v, w = win_moments(t)
    assert np.abs(v - exact).max() < 5e-10
    assert np.abs(w - exact * (exact + t)).max() < 5e-9


def test_nan_stays_nan_without_a_warning() -> None:
    v, w = win_moments(np.array([np.nan, 0.0]))
    assert np.isnan(v).tolist() == np.isnan(w).tolist() == [True, False]


@given(st.floats(-1e6, 1e6), st.floats(1e-4, 3.0))
def test_moments_are_finite_at_any_distance(t: float, width: float) -> None:
    for v, w in (win_moments(np.array([t])), tie_moments(np.array([t]), np.array([width]))):
        assert np.isfinite(v).all()
        assert (w >= 0.0).all()
        assert (w < 1.0).all()


@pytest.mark.parametrize("t", [-30.0, -3.0, -0.2, 0.0, 0.7, 2.5, 8.0, 40.0])
@pytest.mark.parametrize("width", [0.01, 0.1, 1.0, 2.0])
def test_tie_moments_match_numerical_integration(t: float, width: float) -> None:
    v, w = tie_moments(np.array([t]), np.array([width]))
    # A Gaussian around t, truncated to the slice between -width and width.
    x = np.linspace(-width, width, 200_001)
    log = -0.5 * (x - t) ** 2
    weights = np.exp(log - log.max())
    weights[[0, -1]] /= 2.0
    weights /= weights.sum()
    mean = float((weights * x).sum())
    variance = float((weights * (x - mean) ** 2).sum())
    assert v[0] == pytest.approx(mean - t, abs=1e-6)
    assert 1.0 - w[0] == pytest.approx(variance, rel=1e-3, abs=2e-7)


def test_equal_skills_tie_at_the_chosen_draw_probability() -> None:
    rng = np.random.default_rng(1)
    difference = rng.standard_normal(200_000) - rng.standard_normal(200_000)
    assert (abs(difference) <= tie_margin(0.1)).mean() == pytest.approx(0.1, abs=0.003)
