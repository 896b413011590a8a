"""Simulated leagues: skills, and games by TrueSkill's own model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior

Floats = NDArray[np.float64]


def lineups(rng: np.random.Generator, n: int, games: int, seats: int) -> NDArray[np.intp]:
    """Random contenders, each at most once in a game."""
    return rng.random((games, n)).argpartition(seats - 1, axis=1)[:, :seats]


def ranked(performances: Floats) -> NDArray[np.int16]:
    """1 is best, equal performances tie."""
    ahead = performances[:, None, :] > performances[:, :, None]
    ranks: NDArray[np.int16] = (1 + ahead.sum(axis=2)).astype(np.int16)
    return ranks


def play(
    seed: int,
    skills: Floats,
    games: int,
    seats: int = 4,
    *,
    grain: float = 0.0,
    fault_rate: float = 0.0,
    kappa: float = 0.0,
) -> GameTable:
    """Games of random lineups; performances closer than ``grain`` often tie.

    With ``kappa`` each pair of seats has its own advantage. Its standard deviation is ``kappa``, in
    the difference of performances in a duel.
    """
    rng = np.random.default_rng(seed)
    n = len(skills)
    who = lineups(rng, n, games, seats)
    performances = skills[who] + rng.standard_normal(who.shape)
    if kappa:
        own = np.triu(rng.normal(0.0, kappa, (n, n)), 1)
        own -= own.T
        performances += own[who[:, :, None], who[:, None, :]].sum(axis=2) / 2.0
    if grain:
        performances = np.floor(performances / grain)
    faults = rng.random(who.shape) < fault_rate
    return GameTable(who.astype(np.int32), ranked(performances), faults)


def table(*rows: tuple[list[int], list[int], list[bool]]) -> GameTable:
    """A table of given games: contenders, ranks, faults."""
    who, ranks, faults = zip(*rows, strict=True)
    return GameTable(np.array(who, np.int32), np.array(ranks, np.int16), np.array(faults, np.bool_))


def known(means: list[float], sds: list[float]) -> Prior:
    """A prior that already fixes the means and standard deviations."""
    return Prior(np.array(means), np.array(sds), np.full(len(means), -1, np.int32))
