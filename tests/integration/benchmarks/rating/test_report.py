from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.rating import report
from benchmarks.rating.experiments import KAGGLE, LADDER, PLANS, Record, season
from benchmarks.rating.seasons import Life


def record(seed: int, rho: list[float]) -> Record:
    shots = [
        {"games": games, "rho": value, "sealed": 4.0, "awarded": 10.0 * seed}
        for games, value in zip((10.0, 20.0, 40.0), rho, strict=True)
    ]
    return Record("static-100x4", KAGGLE, seed, shots)


def test_a_curve_never_rises_after_smoothing() -> None:
    assert report.fit_falling_curve([5, 3, 4, 1], [1, 1, 1, 1]) == [5, 3.5, 3.5, 1]
    assert report.fit_falling_curve([1, 3], [3, 1]) == [1.5, 1.5]
    assert report.fit_falling_curve([3, 2, 1], [1, 1, 1]) == [3, 2, 1]


def test_games_needed_have_a_jackknife_error() -> None:
    figure = report.games_until_aim([record(1, [0.9, 0.95, 0.99])], "rho", 0.05)
    assert figure.value == pytest.approx(20)
    assert figure.error is None
    figure = report.games_until_aim(
        [record(1, [0.9, 0.95, 0.99]), record(2, [0.95, 1, 1])], "rho", 0.05
    )
    assert figure.value is not None
    assert 10 < figure.value < 20
    assert figure.error == pytest.approx(5)
    assert report.games_until_aim([record(1, [0.9, 0.91, 0.92])], "rho", 0.05).text(0) == "never"


def test_shares_pool_all_seasons() -> None:
    records = [record(1, [1, 1, 1]), record(3, [1, 1, 1])]
    assert report.ratio(records, "sealed", "awarded").value == pytest.approx(8 / 40)


def test_a_short_season_of_each_world_is_reported() -> None:
    results: dict[str, Sequence[Record]] = {}
    for name in ("static-100x4", "living", "bundles"):
        life = PLANS[name].life and Life(open_days=7, frozen_days=1, rounds=4)
        plan = replace(PLANS[name], games=(5, 10), life=life)
        results[name] = [season(name, plan, one, 1) for one in (LADDER, KAGGLE)]
        assert KAGGLE in report.tables(name, plan, results[name])
    text = report.aims(results)
    assert "settled agents' move" in text
    assert all(each.spread is None or each.spread < 1e-4 for each in results["living"])
