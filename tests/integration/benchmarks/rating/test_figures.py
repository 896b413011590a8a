from __future__ import annotations

import pytest

from benchmarks.rating import figures
from benchmarks.rating.board_accuracy import Snapshot
from benchmarks.rating.seasons import Season


def season(sealed: int, rho: list[float]) -> Season:
    shots = [
        Snapshot(games, value, 0.0, 0.95, 0.95, 1.0, sealed, 4)
        for games, value in zip((10.0, 20.0, 40.0), rho, strict=True)
    ]
    return Season(shots)


def test_a_curve_never_rises_after_smoothing() -> None:
    assert figures.fit_falling_curve([5, 3, 4, 1], [1, 1, 1, 1]) == [5, 3.5, 3.5, 1]
    assert figures.fit_falling_curve([1, 3], [3, 1]) == [1.5, 1.5]
    assert figures.fit_falling_curve([3, 2, 1], [1, 1, 1]) == [3, 2, 1]


def test_games_needed_have_a_jackknife_error() -> None:
    figure = figures.games_until_aim([season(10, [0.9, 0.95, 0.99])], "rho", 0.05)
    assert figure.value == pytest.approx(20)
    assert figure.error is None
    figure = figures.games_until_aim(
        [season(10, [0.9, 0.95, 0.99]), season(20, [0.95, 1, 1])], "rho", 0.05
    )
    assert figure.value is not None
    assert 10 < figure.value < 20
    assert figure.error == pytest.approx(5)
    assert figures.games_until_aim([season(10, [0.9, 0.91, 0.92])], "rho", 0.05).text(0) == "never"


def test_shares_pool_all_seasons() -> None:
    seasons = [season(10, [1, 1, 1]), season(30, [1, 1, 1])]
    assert figures.ratio(seasons, "sealed_wrong", "sealed").value == pytest.approx(8 / 40)
