"""Seasons of random games with and without throwers, fitted as the service fits them."""

from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.season_fit import fit_season
from ladder.ratings.official.throwers import (
    SuspectFavourite,
    find_throwers,
    likelier_throwers,
    pairs_to_name,
)

AGENTS, GAMES, THROWERS = 40, 1500, 5


def suspects(seed: int, throwers: int, superseded: int = 0) -> list[SuspectFavourite]:
    """Suspects of a season; the favourite of the strongest ones is in the middle.

    ``superseded`` is the number of further contenders that are not considered.
    """
    rng = np.random.default_rng(seed)
    skill = np.sort(rng.standard_normal(AGENTS))[::-1]
    favourite = AGENTS // 2
    lineups = np.array([rng.permutation(AGENTS)[:4] for _ in range(GAMES)], np.int32)
    shown = skill[lineups] + rng.standard_normal(lineups.shape)
    with_favourite = (lineups == favourite).any(axis=1)[:, None]
    shown[with_favourite & (lineups < throwers)] -= 20.0
    ranks = (1 + (shown[:, None, :] > shown[:, :, None]).sum(axis=2)).astype(np.int16)
    games = GameTable(lineups, ranks, np.zeros(lineups.shape, np.bool_))
    fit = fit_season(games, np.full(AGENTS + superseded, -1, np.int32))
    considered = np.arange(AGENTS + superseded) < AGENTS
    return find_throwers(games, fit.pairs, (fit.mu, fit.shown_sigma), considered, fit.kappa)


def test_throwers_are_named_with_their_favourite() -> None:
    found = suspects(1, THROWERS)
    named = {each.favourite: {pair.thrower for pair in each.pairs} for each in found}
    assert set(range(THROWERS)) <= named[AGENTS // 2]
    assert len(named[AGENTS // 2]) <= THROWERS + 1
    first = next(each for each in found if each.favourite == AGENTS // 2).pairs[0]
    assert first.lost == first.meetings
    assert first.expected < first.lost / 2
    assert first.last == first.meetings
    assert first.expected_last < first.expected


def test_contenders_without_games_hide_no_thrower() -> None:
    (suspect,), (alone,) = suspects(6, 1, superseded=60), suspects(6, 1)
    assert suspect.chance == pytest.approx(alone.chance, rel=1e-3)


def test_of_an_unlikely_pair_only_the_likelier_thrower_is_taken() -> None:
    chance = np.array([0.001, 0.015, 0.01, 0.5, 0.002, 0.001, 0.01, 0.01])
    kept = likelier_throwers(chance < 0.02, chance)
    assert kept.tolist() == [True, False, True, False, False, True, False, True]


def test_a_season_without_throwers_names_nobody() -> None:
    assert [suspects(seed, 0) for seed in range(2, 5)] == [[]] * 3


def test_a_log_without_repeated_pairs_names_nobody() -> None:
    games = GameTable(
        np.array([[0, 1]], np.int32), np.array([[1, 2]], np.int16), np.zeros((1, 2), np.bool_)
    )
    fit = fit_season(games, np.full(2, -1, np.int32))
    skills, everybody = (np.zeros(2), np.ones(2)), np.ones(2, np.bool_)
    assert find_throwers(games, fit.pairs, skills, everybody, 0.0) == []


def test_a_page_names_more_opponents_if_many_lose_unlikely() -> None:
    everybody = np.arange(100)
    few = np.concatenate([[0.001, 0.008], np.full(98, 0.5)])
    assert pairs_to_name(everybody, few).tolist() == [0]
    many = np.concatenate([np.full(9, 0.001), [0.008, 0.03], np.full(89, 0.5)])
    assert sorted(pairs_to_name(everybody, many).tolist()) == list(range(10))
    all_mild = np.full(100, 0.09)
    assert len(pairs_to_name(everybody, all_mild)) == 0
