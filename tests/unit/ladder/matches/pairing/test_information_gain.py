from __future__ import annotations

import numpy as np
import pytest

from ladder.matches.pairing.information_gain import fisher_information, order_loss


@pytest.mark.parametrize("seats", [2, 4, 8])
def test_the_information_of_a_game_matches_simulated_games(seats: int) -> None:
    """It is the mean square of the mean luck at each rank."""
    luck = np.random.default_rng(1).standard_normal((200_000, seats))
    rank = (luck > luck[:, :1]).sum(axis=1)
    shown = [luck[rank == place, 0].mean() for place in range(seats)]
    assert fisher_information(seats) == pytest.approx(np.square(shown).mean(), abs=0.005)


def test_the_information_of_a_duel_is_one_over_pi() -> None:
    assert fisher_information(2) == pytest.approx(1 / np.pi, abs=1e-6)


def test_the_order_loss_is_the_posterior_variance_of_the_rank() -> None:
    draw = np.random.default_rng(1)
    field = draw.standard_normal(2000)
    mu = np.array([0.0, 0.0, 0.0, 1.0, 2.5])
    sigma = np.array([0.05, 0.2, 1.0, 0.2, 0.2])
    skills = mu + sigma * draw.standard_normal((4000, 5))
    ranks = np.searchsorted(np.sort(field), skills)
    expected = 6 * ranks.var(axis=0) / 2000**3
    assert order_loss(field, mu, sigma) == pytest.approx(expected, rel=0.3)


def test_the_order_loss_is_finite_for_equals_and_outliers() -> None:
    for field in (np.zeros(50), np.array([0.0, 1e9, -1e9]), np.zeros(1)):
        loss = order_loss(field, field, np.ones(len(field)))
        assert np.isfinite(loss).all()
        assert (loss >= 0).all()
