"""The statistics of comparisons: what decides, how often it errs, and the published ratios."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from estimates.comparison import (
    ERROR,
    Rule,
    RuleError,
    RunningComparison,
    Verdict,
    log_capital,
    log_likelihood_ratio,
    lower_bound,
    pair_counts,
    picture_after,
    upper_bound,
)
from ladder.errors import Invalid
from ladder.scrims.comparisons import NewComparison


@pytest.mark.parametrize(
    ("counts", "ratio"),
    [
        ([365, 16618, 36229, 16974, 390], 2.2504),
        ([36027, 68692, 36433], 0.9233),  # lost, drawn, won
        ([379, 10170, 21828, 10640, 343], 2.9455),
    ],
)
def test_ratio_agrees_with_published_figures(counts: list[int], ratio: float) -> None:
    assert log_likelihood_ratio(counts, (0.0, 2.0)) == pytest.approx(ratio, abs=0.001)


@pytest.mark.parametrize("counts", [[0, 0, 9, 0, 0], [0, 0, 0, 0, 7], [5, 0, 0, 0, 0]])
def test_ratio_of_few_kinds_of_results_is_finite(counts: list[int]) -> None:
    assert math.isfinite(log_likelihood_ratio(counts))


def test_ratio_without_pairs_is_zero() -> None:
    assert log_likelihood_ratio([0] * 5) == 0


def test_pairs_are_counted_by_difference() -> None:
    assert pair_counts([-1, 0.5, 0, 0, 1]) == [1, 0, 2, 1, 1]


@pytest.mark.parametrize("mean", [-0.25, 0.0, 0.1])
def test_mean_capital_at_the_true_mean_stays_one(mean: float) -> None:
    chances = {-1.0: 0.25, 0.0: 0.5 - mean, 1.0: 0.25 + mean}
    chances[0.0] = 1 - chances[-1.0] - chances[1.0]
    expected = 0.0
    for differences in product(chances, repeat=5):
        capital = math.exp(log_capital(np.array(differences), mean, 0.1)[-1])
        expected += capital * math.prod(chances[one] for one in differences)
    assert expected == pytest.approx(1.0)


def test_capital_falls_as_the_assumed_mean_grows() -> None:
    draw = np.random.default_rng(1)
    differences = draw.uniform(-1, 1, 60)
    capitals = [log_capital(differences, mean, 0.1) for mean in np.linspace(-0.99, 0.99, 41)]
    assert (np.diff(np.stack(capitals), axis=0) <= 1e-12).all()


@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.1, 0.3])
def test_verdict_says_on_which_side_the_bounds_are(shift: float) -> None:
    draw = np.random.default_rng(2)
    running = RunningComparison(Rule(margin=0.1, most_pairs=100))
    while running.now.verdict is None:
        running.add(float(np.clip(draw.choice([-1, -0.5, 0, 0.5, 1]) + shift, -1, 1)))
    for picture in running.pictures:
        better, not_better = picture.low > 0, picture.high < 0.1
        assert (picture.verdict is Verdict.BETTER) == better
        assert (picture.verdict is Verdict.NOT_BETTER) == (not_better and not better)
    assert running.pictures[-1].verdict is not None


def test_bounds_never_widen() -> None:
    draw = np.random.default_rng(3)
    differences = draw.choice([-1.0, 0.0, 1.0], 80)
    lows = [lower_bound(differences[:n], 0.1, ERROR, 0.0) for n in range(81)]
    highs = [upper_bound(differences[:n], 0.1, ERROR, 0.1) for n in range(81)]
    assert lows[0] == -1
    assert highs[0] == 1
    assert (np.diff(lows) >= -1e-6).all()
    assert (np.diff(highs) <= 1e-6).all()


def test_versions_that_play_alike_are_soon_not_better() -> None:
    assert picture_after([0.0] * 60, Rule()).verdict is Verdict.NOT_BETTER


def test_used_up_pairs_give_no_verdict() -> None:
    assert picture_after([1.0, -1.0], Rule(most_pairs=2)).verdict is Verdict.CANNOT_TELL


def test_declared_series_needs_stronger_evidence() -> None:
    differences = [1.0, 0.5] * 8
    alone = picture_after(differences, Rule())
    in_series = picture_after(differences, Rule(variants=20))
    assert in_series.low < alone.low
    assert in_series.high == alone.high


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("margin", {"margin": 0.0}),
        ("margin", {"margin": float("nan")}),
        ("margin", {"margin": 0.6}),
        ("pairs", {"most_pairs": 0}),
        ("variants", {"variants": 0}),
    ],
)
def test_refused_number_names_its_field(field: str, values: dict[str, float]) -> None:
    with pytest.raises(RuleError) as refused:
        Rule(**values)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_request_for_a_tiny_margin_without_pairs_is_refused() -> None:
    with pytest.raises(Invalid, match="pairs: must be from 1 to"):
        _ = NewComparison(old="a", new="b", opponents=[], margin=0.01).rule


@pytest.mark.parametrize(("strength", "margin_away"), [(0.0, False), (0.749, True)])
def test_simulated_errors_stay_below_five_percent(strength: float, margin_away: bool) -> None:
    """A version that is equal, or that beats a fifth more of its opponents: the margin."""
    draw = np.random.default_rng(4)
    opponents = draw.standard_normal((400, 375, 3))

    def shares(own: float) -> npt.NDArray[np.float64]:
        lead = own + draw.standard_normal((400, 375, 1)) - opponents
        beaten = (lead > 0.2) + 0.5 * (np.abs(lead) <= 0.2)
        share: npt.NDArray[np.float64] = beaten.mean(axis=-1)
        return share

    differences = -shares(0.0) + shares(strength)
    above = log_capital(differences, 0.0, 0.2) >= math.log(1 / ERROR)
    below = log_capital(-differences, -0.2, 0.2) >= math.log(1 / ERROR)
    first_above, first_below = (
        np.where(sides.any(axis=-1), sides.argmax(axis=-1), 375) for sides in (above, below)
    )
    is_better = (first_above <= first_below) & (first_above < 375)
    wrong = ~is_better if margin_away else is_better
    assert wrong.mean() <= ERROR
