from __future__ import annotations

import numpy as np
import pytest
import trueskill

from benchmarks.rating import online_trueskill


@pytest.mark.parametrize("players", [2, 3, 4, 8])
def test_baseline_ratings_match_the_trueskill_package(players: int) -> None:
    package = trueskill.TrueSkill(mu=0, sigma=2, beta=1, tau=0, draw_probability=1e-9)
    rng = np.random.default_rng(players)
    mu = rng.normal(0, 1.5, (20, players))
    sigma = rng.uniform(0.1, 2.0, (20, players))
    ranks = 1 + np.argsort(rng.random((20, players)), axis=1).astype(np.int16)
    new_mu, new_sigma = online_trueskill.update(mu, sigma, ranks)
    for game in range(20):
        groups = [
            (package.create_rating(m, s),) for m, s in zip(mu[game], sigma[game], strict=True)
        ]
        rated = package.rate(groups, ranks=ranks[game].tolist())
        assert new_mu[game] == pytest.approx([one.mu for (one,) in rated], abs=1e-5)
        assert new_sigma[game] == pytest.approx([one.sigma for (one,) in rated], abs=1e-5)


def test_a_tie_moves_two_means_together() -> None:
    mu, sigma = np.array([[1.0, -1.0], [0.5, 0.5]]), np.ones((2, 2))
    new_mu, new_sigma = online_trueskill.update(mu, sigma, np.ones((2, 2), dtype=np.int16))
    assert -1 < new_mu[0, 1] < 0 < new_mu[0, 0] < 1
    assert new_mu[1] == pytest.approx([0.5, 0.5])
    assert (new_sigma < 1).all()


def test_a_wave_has_each_player_at_most_once() -> None:
    rng = np.random.default_rng(3)
    lineups = np.array([rng.choice(12, 3, replace=False) for _ in range(200)], dtype=np.int32)
    waves = online_trueskill.split_into_batches(lineups, 12)
    assert sorted(game for wave in waves for game in wave.tolist()) == list(range(200))
    for wave in waves:
        seen = lineups[wave].ravel()
        assert len(np.unique(seen)) == len(seen)
    for player in range(12):
        games = [game for wave in waves for game in wave.tolist() if player in lineups[game]]
        assert games == sorted(games)
