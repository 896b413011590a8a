from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimates.intervals import wilson_interval


def test_wilson_interval_matches_the_textbook() -> None:
    low, high = wilson_interval(8, 10)
    assert low == pytest.approx(0.4902, abs=1e-4)
    assert high == pytest.approx(0.9433, abs=1e-4)


def test_without_trials_the_interval_is_zero_to_one() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_the_interval_contains_the_rate(trials: int, rate: float) -> None:
    low, high = wilson_interval(rate * trials, trials)
    assert 0.0 <= low <= rate + 1e-9
    assert rate - 1e-9 <= high <= 1.0
