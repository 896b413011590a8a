"""Simulated leagues: skills, and games by TrueSkill's own model."""

from __future__ import annotations

import numpy as np
import trueskill
from numpy.typing import NDArray

from ladder.ratings.official.fit import Fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior

Floats = NDArray[np.float64]
HALF_POINT = 0.5 / 150.0
"""Half a point of the rating scale, in beta."""


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


def skills(seed: int, n: int, spread: float = 1.0) -> Floats:
    drawn = np.random.default_rng(seed).normal(0.0, spread, n)
    centred: Floats = drawn - drawn.mean()
    return centred


def by_package(prior: Prior, ranks: list[int], draw: float) -> tuple[Floats, Floats]:
    """The trueskill package's result for one game."""
    environment = trueskill.TrueSkill(0.0, 1.0, 1.0, 0.0, draw)
    pairs = zip(prior.mean, prior.sd, strict=True)
    rated = environment.rate(
        [(environment.create_rating(m, s),) for m, s in pairs], ranks=ranks, min_delta=1e-9
    )
    return np.array([r.mu for (r,) in rated]), np.array([r.sigma for (r,) in rated])


def spearman(one: Floats, two: Floats) -> float:
    off = [values.argsort().argsort() - (len(values) - 1) / 2.0 for values in (one, two)]
    return float((off[0] * off[1]).sum() / (off[0] ** 2).sum())


def same(one: Fit, two: Fit, tolerance: float = HALF_POINT) -> bool:
    return bool(
        np.abs(one.mu - two.mu).max() < tolerance
        and np.abs(one.sigma - two.sigma).max() < tolerance
        and np.abs(one.shown_sigma - two.shown_sigma).max() < tolerance
    )
