"""The generalised sequential probability ratio test of game pairs, in normalised Elo. Two seats.

It is shown beside the verdict for people who know it from chess engines. It decides nothing here.
A pair has one of five results (pentanomial), or a game one of three. The likelihood is maximised
under each hypothesis: Van den Bergh, "Comments on normalized Elo" (hardy.uhasselt.be/Fishtest).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ELO_OF_T: Final = 800 / log(10)
"""Normalised Elo of one standard deviation of a game."""
BOUNDS: Final = (0.0, 2.0)
SMALLEST_COUNT: Final = 1e-3  # stands for a result that never happened


def log_likelihood_ratio(counts: Sequence[int], elo: tuple[float, float] = BOUNDS) -> float:
    """Returns the log-likelihood ratio of normalised Elo ``elo[1]`` against ``elo[0]``.

    ``counts`` are results from worst to best: five for pairs of games, three for single games.
    """
    if len(counts) not in (3, 5):
        raise ValueError(f"give three or five counts, not {len(counts)}")
    total = sum(counts)
    if not total:
        return 0.0
    seen = np.maximum(np.asarray(counts, dtype=np.float64), SMALLEST_COUNT) / total
    scores = np.linspace(0.0, 1.0, len(counts))
    of_pair = sqrt(2) if len(counts) == 5 else 1.0  # a pair has two games
    null, other = (_most_likely(scores, seen, each / ELO_OF_T * of_pair) for each in elo)
    return float(total * np.sum(seen * np.log(other / null)))


def pair_counts(differences: Sequence[float]) -> list[int]:
    """Returns how many pairs gave each of the differences -1, -0.5, 0, 0.5 and 1."""
    counts = [0] * 5
    for difference in differences:
        counts[round(2 * difference) + 2] += 1
    return counts


def _most_likely(scores: Array, seen: Array, deviations: float) -> Array:
    """The likeliest distribution whose mean is ``deviations`` standard deviations above 0.5."""
    found = np.full(len(scores), 1 / len(scores))
    for _ in range(100):
        mean = float(found @ scores)
        spread = sqrt(float(found @ (scores - mean) ** 2))
        slopes = scores - 0.5 - deviations * spread * (1 + ((mean - scores) / spread) ** 2) / 2
        weight = _root(lambda x, a=slopes: float(np.sum(seen * a / (1 + x * a))), slopes)  # type: ignore[misc]
        last, found = found, seen / (1 + weight * slopes)
        if np.abs(found - last).max() < 1e-12:
            break
    return found


def _root(falls: Callable[[float], float], slopes: Array) -> float:
    """The zero of a falling function between its poles."""
    low, high = -1 / float(slopes.max()), -1 / float(slopes.min())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) > 0 else (low, middle)
    return (low + high) / 2
