"""What the posterior says of ranks: draws, intervals, chances of a medal, and what a game is worth.

Contenders (or teams) are ranked from 1 by mean. Draws are independent between them.
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


def draw_ranks(mu: Floats, sigma: Floats, count: int, seed: int) -> Ranks:
    """``count`` draws of everybody's rank: [count, n], each row a permutation of 1 to n."""
    rng = np.random.Generator(np.random.SFC64(seed))
    n = len(mu)
    ranks = np.empty((count, n), np.int32)
    places = np.arange(1, n + 1, dtype=np.int32)
    for row in ranks:
        skills = rng.standard_normal(n)
        skills *= sigma
        skills += mu
        row[np.argsort(-skills)] = places
    return ranks


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
