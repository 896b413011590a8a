"""Computes confidence intervals of rates. Pure."""

from __future__ import annotations

from math import sqrt
from typing import Final

Z95: Final = 1.959963984540054


def wilson_interval(successes: float, trials: float, z: float = Z95) -> tuple[float, float]:
    """Returns Wilson's score interval of a rate, 95 % by default; (0, 1) without trials."""
    if trials <= 0:
        return 0.0, 1.0
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale
    # Rounding must not move an end past the rate.
    return max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))
