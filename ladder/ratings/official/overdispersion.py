"""Estimates how far pairs differ from their skills (kappa), and how much remains in a mean.

The difference of i's and j's performances has the mean s_i - s_j + x_ij. The x have the standard
deviation kappa over pairs. Then games of a pair agree more than the fit predicts. Kappa^2 is
estimated from products of residuals of different games of a pair, so a single game's noise has no
effect. A mean keeps kappa^2 H of the variance. H is the sum of squared shares of meetings
(Herfindahl).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.message_passing import BLOCK, GameGraph, sum_by_contender
from ladder.ratings.official.truncated_gaussian import tie_moments, win_moments

Floats = NDArray[np.float64]
Keys = NDArray[np.uint32] | NDArray[np.int64]

LOW: Final = 0
HIGH: Final = 1
TIE: Final = 2
"""Outcomes: the contender with the lower number was better, the other was, or neither."""
OUTCOME_BITS: Final = 2
LEAST_ROOM: Final = 1e-3
"""Least sum of squared precisions of pairs that permits an estimate."""
MOST_KAPPA: Final = 2.0
DOUBT: Final = 1.0
"""Standard errors that kappa^2 must exceed; otherwise it counts as 0."""


@dataclass(frozen=True)
class MetPairs:
    """Every pair that met in games without a fault of either."""

    low: NDArray[np.intp]
    high: NDArray[np.intp]
    meetings: Floats
    played: Floats
    """Number of meetings by contender."""
    often: NDArray[np.intp]
    """Pairs that met more than once."""
    outcomes: Floats
    """Count of each outcome for these pairs: [3, often], by ``LOW``, ``HIGH`` and ``TIE``."""


def sorted_meetings(graph: GameGraph, n: int) -> Keys:
    """Returns a number for each meeting, sorted: the pair and the better one.

    ``n``: the number of contenders.
    """
    dtype = np.uint32 if n * n << OUTCOME_BITS <= 1 << 32 else np.int64  # 32 bits sort faster
    keys = [np.zeros(0, dtype)]
    for chains in graph.chains:
        who = chains.who.astype(dtype)
        for better in range(len(who) - 1):
            level_so_far = None if chains.ties is None else np.ones(who.shape[1], np.bool_)
            for worse in range(better + 1, len(who)):
                first, second = who[better], who[worse]
                low = np.minimum(first, second)
                outcome = (first != low).astype(dtype)
                if level_so_far is not None and chains.ties is not None:
                    level_so_far &= chains.ties[worse - 1]
                    outcome[level_so_far] = TIE
                keys.append((low * n + np.maximum(first, second)) << OUTCOME_BITS | outcome)
    met = np.concatenate(keys)
    met.sort()
    return met


def tie_share(keys: Keys) -> float:
    """Returns the share of meetings that were ties."""
    return float((keys & TIE > 0).mean()) if len(keys) else 0.0


def count_pairs(keys: Keys, n: int) -> MetPairs:
    """Returns the pairs of sorted meetings of ``n`` contenders."""
    pair = keys >> OUTCOME_BITS
    last = np.empty(len(keys), np.bool_)
    last[-1:] = True
    np.not_equal(pair[1:], pair[:-1], out=last[:-1])
    stop = np.flatnonzero(last) + 1
    pair = pair[stop - 1]
    number = np.diff(stop, prepend=0)
    often = np.flatnonzero(number > 1)
    stop, number_often = stop[often], number[often]
    outcomes = np.zeros((3, len(often)))
    outcome = (keys & ((1 << OUTCOME_BITS) - 1)).astype(np.int8)
    for kind in (HIGH, TIE):
        upto = np.zeros(len(keys) + 1, np.int32)
        np.cumsum(outcome == kind, out=upto[1:])
        outcomes[kind] = upto[stop] - upto[stop - number_often]
    outcomes[LOW] = number_often - outcomes[HIGH] - outcomes[TIE]
    low, high = np.divmod(pair.astype(np.intp), n)
    met = number.astype(np.float64)
    played = sum_by_contender(low, met, n) + sum_by_contender(high, met, n)
    return MetPairs(low, high, met, played, often, outcomes)


def difference_deviation(pairs: MetPairs, mu: Floats, sigma: Floats) -> float:
    """Returns the standard deviation of performance differences over all meetings."""
    square = 0.0
    for start in range(0, len(pairs.low), BLOCK):
        block = slice(start, start + BLOCK)
        apart = mu[pairs.low[block]] - mu[pairs.high[block]]
        apart *= apart
        square += float((apart * pairs.meetings[block]).sum())
    square += float((pairs.played * sigma**2).sum())
    return float(np.sqrt(2.0 + 2.0 * square / max(float(pairs.played.sum()), 1.0)))


def kappa(pairs: MetPairs, mu: Floats, sigma: Floats, margin: float) -> float:
    """Returns the standard deviation of a pair's own advantage, in beta, reduced for chance."""
    explained = measured = total_room = 0.0
    for start in range(0, len(pairs.often), BLOCK):
        block = slice(start, start + BLOCK)
        often, outcomes = pairs.often[block], pairs.outcomes[:, block]
        low, high = pairs.low[often], pairs.high[often]
        residuals, weights = _outcome_moments(mu[low] - mu[high], margin, outcomes[TIE] > 0.0)
        unsure = sigma[low] ** 2 + sigma[high] ** 2
        # Sums over two different games of the pair: the squared sum less the sum of squares.
        products = (outcomes * residuals).sum(0) ** 2 - (outcomes * residuals**2).sum(0)
        weight = (outcomes * weights).sum(0)
        room = weight**2 - (outcomes * weights**2).sum(0)
        kept = np.clip(1.0 - weight * unsure, 0.0, 1.0)
        explained += float((room * kept**2).sum())
        measured += float((products + unsure * room).sum())
        total_room += float(room.sum())
    if explained < LEAST_ROOM:
        return 0.0
    square = measured / explained
    noise = (2.0 * total_room) ** 0.5 / explained
    if square <= DOUBT * noise:
        return 0.0
    return min(MOST_KAPPA, float(np.sqrt(square - (DOUBT * noise) ** 2 / square)))


def _outcome_moments(
    apart: Floats, margin: float, tied: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Returns each outcome's residual and precision: [3, pairs]; ``apart``: low less high.

    Pairs that never ``tied`` have 0 for a tie, which they do not need.
    """
    root2 = 2.0**0.5
    t, m = apart / root2, margin / root2
    residuals, weights = np.zeros((2, 3, len(t)))
    residuals[LOW], weights[LOW] = win_moments(t - m)
    residuals[HIGH], weights[HIGH] = win_moments(-t - m)
    residuals[HIGH] *= -1.0
    if margin > 0:
        tied_t = t[tied]
        residuals[TIE, tied], weights[TIE, tied] = tie_moments(tied_t, np.full_like(tied_t, m))
    return residuals / root2, weights / 2.0


def opponent_concentration(pairs: MetPairs) -> Floats:
    """Returns the sum of squared shares of each opponent in the meetings; 0 without any."""
    n, square = len(pairs.played), pairs.meetings**2
    squares = sum_by_contender(pairs.low, square, n) + sum_by_contender(pairs.high, square, n)
    shares: Floats = squares / np.maximum(pairs.played, 1.0) ** 2
    return shares
