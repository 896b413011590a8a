"""Computes rank draws, intervals, medal chances and remaining uncertainty from the posterior.

Draws are independent between contenders. A rank is 1 plus the number of better rivals; twins count
once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]
AT_ONCE: Final = 32
"""Number of draws whose working arrays fit the cache."""


@dataclass(frozen=True)
class RankOutlook:
    """Possible ranks of each contender."""

    rank_low: Ranks
    """Best rank of the 95 % interval."""
    rank_high: Ranks
    """Worst rank of the 95 % interval."""
    chances: Floats
    """[n, cuts]: the probability of a rank at each cut or better."""


def draw_ranks(
    mu: Floats,
    sigma: Floats,
    twins: NDArray[np.intp],
    rivals: NDArray[np.intp],
    count: int,
    seed: int,
) -> Ranks:
    """Returns ``count`` draws of each contender's rank among these rivals: [count, n].

    ``twins`` gives the place whose draw a contender shares, or its own place. Twins tie, and count
    as one rival.
    """
    rng = np.random.Generator(np.random.SFC64(seed))
    first, own = np.unique(twins, return_inverse=True)
    rivals_there = np.zeros(len(first), np.int32)
    rivals_there[own[rivals]] = 1
    drawn = np.empty((count, len(mu)), np.int32)
    for start in range(0, count, AT_ONCE):
        part = drawn[start : start + AT_ONCE]
        skills = rng.standard_normal((len(part), len(first)))
        skills *= sigma[first]
        skills += mu[first]
        best_first = np.argsort(-skills, axis=1)
        there = rivals_there[best_first]
        rank = np.empty(best_first.shape, np.int32)
        np.put_along_axis(rank, best_first, np.cumsum(there, axis=1) - there + 1, axis=1)
        np.take(rank, own, axis=1, out=part)
    return drawn


def rank_outlook(ranks: Ranks, cuts: Sequence[int]) -> RankOutlook:
    """Returns 95 % intervals (2.5 % of the draws outside each end) and chances."""
    low, high = (math.ceil(share * len(ranks)) - 1 for share in (0.025, 0.975))
    ordered = np.sort(ranks, axis=0)
    return RankOutlook(ordered[low], ordered[high], _medal_chances(ranks, cuts))


def expected_order(drawn: Ranks, shown: NDArray[np.intp]) -> float:
    """Returns the expected Spearman correlation of the shown ranks with the true ones.

    ``drawn`` are draws of the same contenders' ranks: [count, n].
    """
    n = len(shown)
    if n < 2:
        return 1.0
    gaps = ((drawn - shown) ** 2.0).sum(axis=1)
    return float(1.0 - 6.0 * gaps.mean() / (n * (n**2 - 1.0)))


def remaining_uncertainty(ranks: Ranks, cuts: Sequence[int], boundary_weight: float) -> Floats:
    """Returns each contender's remaining uncertainty, in the order and in the medals.

    6 Var(rank) / n^3 + boundary_weight / medals * the sum over cuts of P (1 - P). P is the
    probability of a rank at the cut or better.
    """
    n = ranks.shape[1]
    order = 6.0 * ranks.var(axis=0) / max(n, 1) ** 3
    chances = _medal_chances(ranks, cuts)
    medals = max([1, *cuts])
    unclear: Floats = order + boundary_weight / medals * (chances * (1.0 - chances)).sum(axis=1)
    return unclear


def _medal_chances(ranks: Ranks, cuts: Sequence[int]) -> Floats:
    if not cuts:
        return np.zeros((ranks.shape[1], 0))
    return np.stack([np.count_nonzero(ranks <= cut, axis=0) for cut in cuts], axis=1) / len(ranks)
