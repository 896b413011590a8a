"""The fit of a season: what it makes of faults."""

from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.fit import fit_season
from ladder.ratings.official.game_table import GameTable
from tests.unit.ladder.ratings.official.worlds import play, skills


def test_a_fault_in_a_game_of_two_seats_is_a_loss() -> None:
    plain = play(3, skills(3, 12), 200, seats=2)
    lost = plain.ranks > plain.ranks.min(axis=1, keepdims=True)
    told = GameTable(plain.contenders, plain.ranks, lost & (plain.contenders < 3))
    parents = np.full(12, -1, np.int32)
    fitted = fit_season(told, parents)
    assert fitted.mu == pytest.approx(fit_season(plain, parents).mu, abs=1e-9)
    assert fitted.failed[:3].min() > 0
    apart = fit_season(told, parents, faults_are_losses=False)
    assert abs(apart.mu - fitted.mu).max() > 0.1


def test_two_faults_in_a_game_rate_nobody() -> None:
    told = GameTable(
        np.array([[0, 1], [0, 1]], np.int32),
        np.array([[1, 2], [1, 1]], np.int16),
        np.array([[False, False], [True, True]]),
    )
    parents = np.full(2, -1, np.int32)
    both, one = fit_season(told, parents), fit_season(told.take(slice(1)), parents)
    assert both.mu == pytest.approx(one.mu, abs=1e-9)
