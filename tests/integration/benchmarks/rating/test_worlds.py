from __future__ import annotations

import numpy as np
import pytest

from benchmarks.rating import baselines, online_trueskill, worlds


def test_beta_sets_how_often_the_better_agent_wins() -> None:
    rng = np.random.default_rng(1)
    world = worlds.normal(2, 2, rng)
    world.skill[:] = 1.0, 0.0
    ranks, faults = world.play(np.tile(np.array([0, 1], dtype=np.int32), (20_000, 1)), rng)
    assert (ranks[:, 0] == 1).mean() == pytest.approx(0.760, abs=0.01)
    assert not faults.any()


def test_a_crashing_agent_is_last_with_a_fault() -> None:
    rng = np.random.default_rng(2)
    world = worlds.normal(3, 3, rng)
    world.skill[:] = 9.0, 0.0, 0.0
    world.crash[0] = 1.0
    ranks, faults = world.play(np.array([[0, 1, 2]], dtype=np.int32), rng)
    assert ranks[0, 0] == 3
    assert faults.tolist() == [[True, False, False]]
    assert world.truth(np.arange(3, dtype=np.int32))[0] < -5


def test_true_skill_in_a_cycle_is_the_mean_edge_over_the_field() -> None:
    world = worlds.normal(40, 2, np.random.default_rng(3), cycle=0.2)
    field = np.arange(40, dtype=np.int32)
    x, y = world.plane.T
    edges = 0.2 / 2**0.5 * (np.outer(x, y) - np.outer(y, x))
    assert world.truth(field) == pytest.approx(world.skill + edges.mean(axis=1))
    assert edges[np.triu_indices(40, 1)].std() == pytest.approx(0.2, abs=0.06)


def test_a_duel_shows_the_full_edge_of_a_pair() -> None:
    rng = np.random.default_rng(7)
    world = worlds.normal(2, 2, rng, cycle=0.5)
    world.skill[:] = 0.0
    world.plane[:] = [[0.0, 2.0], [-2.0, 0.0]]
    edge = 0.5 / 2**0.5 * (0.0 * 0.0 - 2.0 * -2.0)
    ranks, _ = world.play(np.tile(np.array([0, 1], dtype=np.int32), (40_000, 1)), rng)
    won = float((ranks[:, 0] == 1).mean())
    assert won == pytest.approx(
        float(online_trueskill.normal_cdf(np.array(edge / 2**0.5))), abs=0.01
    )


def test_near_copies_have_the_stated_skill_gaps() -> None:
    world = worlds.near_copies(100, 4, np.random.default_rng(4))
    steps = np.diff(world.skill.reshape(25, 4), axis=1)
    assert steps.min() >= 0.01
    assert steps.max() <= 0.05


@pytest.mark.parametrize("seats", [2, 4, 8])
def test_a_baseline_lineup_has_each_agent_at_most_once(seats: int) -> None:
    rng = np.random.default_rng(6)
    known = baselines.Known(rng.normal(size=30), np.ones(30), rng.integers(0, 90, 30))
    lineups = baselines.by_similar_rating(known, seats, 50, rng)
    assert lineups.shape == (50, seats)
    assert all(len(set(lineup)) == seats for lineup in lineups.tolist())
