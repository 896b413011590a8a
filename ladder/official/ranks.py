"""What the posterior says of ranks: draws, intervals, chances of a medal, and what a game is worth.

Draws are independent between contenders; a rank is 1 more than the number of rivals who are better,
twins counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]


@dataclass(frozen=True)
class Outlook:
    """Where everybody may end."""

    rank_low: Ranks
    """The best rank of the 95 % interval."""
    rank_high: Ranks
    """The worst rank of it."""
    chances: Floats
    """[n, cuts]: the probability of a rank at each cut or better."""


def draw_among(
    mu: Floats,
    sigma: Floats,
    twins: NDArray[np.intp],
    rivals: NDArray[np.intp],
    count: int,
    seed: int,
) -> Ranks:
    """``count`` draws of the rank that everybody would have among these rivals: [count, n].

    ``twins`` gives whose draw each one shares (its own place where nobody's): they tie, and are one
    rival to the others.
    """
    rng = np.random.Generator(np.random.SFC64(seed))
    first, own = np.unique(twins, return_inverse=True)
    rivals_there = np.zeros(len(first), np.int32)
    rivals_there[own[rivals]] = 1
    rank = np.empty(len(first), np.int32)
    drawn = np.empty((count, len(mu)), np.int32)
    for row in drawn:
        skills = rng.standard_normal(len(first))
        skills *= sigma[first]
        skills += mu[first]
        best_first = np.argsort(-skills)
        there = rivals_there[best_first]
        rank[best_first] = np.cumsum(there) - there + 1
        row[:] = rank[own]
    return drawn


def outlook(ranks: Ranks, cuts: Sequence[int]) -> Outlook:
    """Intervals that leave out 2.5 % of the draws on either side, and chances."""
    low, high = np.quantile(ranks, (0.025, 0.975), axis=0, method="inverted_cdf")
    return Outlook(low.astype(np.int32), high.astype(np.int32), _chances(ranks, cuts))


def loss(ranks: Ranks, cuts: Sequence[int], boundary_weight: float) -> Floats:
    """What is still unclear about each: of the order, and of the medals.

    6 Var(rank) / n^3 + boundary_weight / medals * the sum over cuts of P (1 - P), with P the
    probability of a rank at the cut or better.
    """
    n = ranks.shape[1]
    order = 6.0 * ranks.var(axis=0) / max(n, 1) ** 3
    chances = _chances(ranks, cuts)
    medals = max([1, *cuts])
    unclear: Floats = order + boundary_weight / medals * (chances * (1.0 - chances)).sum(axis=1)
    return unclear


def _chances(ranks: Ranks, cuts: Sequence[int]) -> Floats:
    if not cuts:
        return np.zeros((ranks.shape[1], 0))
    return np.stack([(ranks <= cut).mean(axis=0) for cut in cuts], axis=1)
