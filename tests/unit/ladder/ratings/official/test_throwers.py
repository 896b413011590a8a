"""Seasons of random games with and without throwers, fitted as the service fits them."""

from __future__ import annotations

import numpy as np
import pytest

from ladder.ratings.official.fit import fit_season
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.throwers import SuspectFavourite, find_throwers

AGENTS, GAMES, THROWERS = 40, 1500, 5


def suspects(
    seed: int,
    throwers: int,
    superseded: int = 0,
    *,
    thrown: float = 1.0,
    ring: int = 0,
    tied_within: float = 0.0,
) -> list[SuspectFavourite]:
    """Suspects of a season; the favourite of the strongest ones is in the middle.

    ``superseded`` is the number of further contenders that are not considered. ``thrown`` is the
    share of their games that the throwers give away. Every third of the contenders up to ``ring``
    shares the first place with the others of the ring. Performances are rounded to ``tied_within``.
    """
    rng = np.random.default_rng(seed)
    skill = np.sort(rng.standard_normal(AGENTS))[::-1]
    favourite = AGENTS // 2
    lineups = np.array([rng.permutation(AGENTS)[:4] for _ in range(GAMES)], np.int32)
    shown = skill[lineups] + rng.standard_normal(lineups.shape)
    if tied_within:
        shown = np.round(shown / tied_within)
    with_favourite = (lineups == favourite).any(axis=1)[:, None]
    throws = with_favourite & (lineups < throwers)
    shown[throws & (rng.random(lineups.shape) < thrown)] -= 20.0
    in_ring = (lineups < ring) & (lineups % 3 == 0)
    shown[in_ring & (in_ring.sum(axis=1) > 1)[:, None]] = 20.0
    ranks = (1 + (shown[:, None, :] > shown[:, :, None]).sum(axis=2)).astype(np.int16)
    games = GameTable(lineups, ranks, np.zeros(lineups.shape, np.bool_))
    fit = fit_season(games, np.full(AGENTS + superseded, -1, np.int32))
    considered = np.arange(AGENTS + superseded) < AGENTS
    return find_throwers(games, fit, considered)


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
    (suspect,), (alone,) = suspects(6, 3, superseded=60), suspects(6, 3)
    assert suspect.chance == pytest.approx(alone.chance, rel=1e-3)


def test_contenders_that_throw_half_of_their_games_are_named() -> None:
    (suspect,) = suspects(7, THROWERS, thrown=0.5)
    assert suspect.favourite == AGENTS // 2
    assert {pair.thrower for pair in suspect.pairs} == set(range(THROWERS))


@pytest.mark.parametrize("tied_within", [0.0, 0.6])
def test_a_ring_that_shares_first_places_is_named(tied_within: float) -> None:
    ring = set(range(0, 24, 3))
    found = suspects(4, 0, ring=24, tied_within=tied_within)
    assert {each.favourite for each in found} == ring
    named = {pair.thrower for each in found for pair in each.pairs}
    assert ring <= named
    assert len(named - ring) <= 2
    pair = found[0].pairs[0]
    assert pair.tied > 2 * pair.expected_tied


@pytest.mark.parametrize("tied_within", [0.0, 0.6])
def test_a_season_without_throwers_names_nobody(tied_within: float) -> None:
    assert [suspects(seed, 0, tied_within=tied_within) for seed in range(2, 5)] == [[]] * 3


def test_a_log_without_repeated_pairs_names_nobody() -> None:
    games = GameTable(
        np.array([[0, 1]], np.int32), np.array([[1, 2]], np.int16), np.zeros((1, 2), np.bool_)
    )
    fit = fit_season(games, np.full(2, -1, np.int32))
    assert find_throwers(games, fit, np.ones(2, np.bool_)) == []
