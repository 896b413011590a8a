"""Computes confidence intervals. Pure."""

from __future__ import annotations

from math import sqrt
from typing import Final

Z95: Final = 1.959963984540054


def half_width(sigma: float) -> float:
    """Returns half of the 95 % interval of a score with this deviation: what follows a ``+-``."""
    return Z95 * sigma


def wilson_interval(successes: float, trials: float) -> tuple[float, float]:
    """Returns Wilson's 95 % score interval of a rate; (0, 1) without trials."""
    z = Z95
    if trials <= 0:
        return 0.0, 1.0
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale
    # Rounding must not move an end past the rate.
    return max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))


def expand_student_quantile(z: float, degrees: float) -> float:
    """Returns the quantile of Student's t, from ``z``, that of the normal distribution.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / degrees ** (power + 1) for power, term in enumerate(terms))
