"""The benchmark of orders finds a clear order, and no order between equal agents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks import season_order
from benchmarks.rating.worlds import World
from ladder.ratings.official.fit import fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior


def world(*skills: float) -> World:
    count = len(skills)
    return World(2, 0.0, np.array(skills), np.zeros(count), np.zeros((count, 2)))


def test_a_round_robin_rotates_the_seats_of_every_lineup() -> None:
    lineups = season_order.round_robin(3, 2, 2)
    assert lineups.tolist() == [[0, 1], [0, 2], [1, 2], [1, 0], [2, 0], [2, 1]]


def test_clear_pairs_have_distant_ratings() -> None:
    known = fit(GameTable.empty(), Prior.unknown(3))
    apart = replace(known, mu=np.array([0.0, 2.0, 1.9]), sigma=np.full(3, 0.2))
    assert season_order.clear_pairs(apart) == [(1, 0), (2, 0)]


def test_a_season_finds_when_the_order_becomes_stable() -> None:
    clear = world(3.0, 0.0, -3.0)
    pairs = [(0, 1), (0, 2), (1, 2)]
    found = season_order.matches_until_ordered(3, 2, 30, clear.play, pairs, seed=1)
    assert found is not None
    assert found <= 30
    upside_down = [(worse, better) for better, worse in pairs]
    assert season_order.matches_until_ordered(3, 2, 30, clear.play, upside_down, seed=1) is None
