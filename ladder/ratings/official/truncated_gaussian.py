"""Computes moments of a truncated Gaussian, without overflow at any distance.

With t in standard deviations, ``v`` moves the mean by v sd, and ``w`` removes the share w of the
variance (Herbrich, Minka, Graepel 2006). Both use Mills' ratio (1 - Phi(x)) / phi(x). For every x
from 0 it is a polynomial in (x - 5) / (x + 5), divided by x + 5, with error 3e-11.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

FARTHEST: Final = 60
"""Upsets beyond this distance, in standard deviations, count as this distance."""
POINTS: Final = 512
"""Points of the table of ``win_moments`` per standard deviation."""
WIDEST: Final = 30.0
"""Margins wider than this, in standard deviations, count as this wide."""
CERTAIN: Final = 1e-7
"""Least share of the variance that remains."""
SQRT2PI: Final = 2.5066282746310002

# Chebyshev interpolation of mills(x) * (x + 5), computed with 60 digits.
CENTRE: Final = 5.0
MILLS: Final = (
    1.9280810471355887,
    -1.6678665957109708,
    1.2415470638465445,
    -0.7859110559191858,
    0.4136446673764629,
    -0.17325494811566625,
    0.05212589614691095,
    -0.007502249546578273,
    -0.0020015479036687473,
    0.0013632796852126663,
    -0.00014531902669542894,
    -0.00012123511063698272,
    3.738806657481076e-05,
    7.4614623431596165e-06,
    -3.852369289750318e-06,
)


def mills_ratio(x: Array) -> Array:
    """Returns (1 - Phi(x)) / phi(x) for x from 0."""
    scale = 1.0 / (x + CENTRE)
    u = (x - CENTRE) * scale
    ratio = u * MILLS[-1]
    for coefficient in MILLS[-2:0:-1]:
        ratio += coefficient
        ratio *= u
    ratio += MILLS[0]
    ratio *= scale
    return ratio


def lower_mills_ratio(x: Array) -> Array:
    """Returns Phi(x) / phi(x) for x up to ``WIDEST``; it contains exp(x^2 / 2)."""
    near = mills_ratio(np.abs(x))
    return np.where(x < 0, near, SQRT2PI * np.exp(0.5 * np.maximum(x, 0.0) ** 2) - near)


def normal_cdf(x: Array) -> Array:
    """Returns the share of a standard normal distribution below each value."""
    distance = np.minimum(np.abs(x), FARTHEST)
    tail = np.exp(-0.5 * distance * distance) / SQRT2PI * mills_ratio(distance)
    return np.where(x < 0, tail, 1.0 - tail)


def _taylor_terms() -> tuple[Array, Array, Array]:
    """Returns v of ``win_moments`` and its first two Taylor coefficients, from -FARTHEST on."""
    t = np.arange(-FARTHEST * POINTS, FARTHEST * POINTS + 1) / POINTS
    ratio = mills_ratio(np.abs(t))
    density = np.exp(-0.5 * t * t) / SQRT2PI
    v = np.where(t < 0, 1.0, density) / np.where(t < 0, ratio, 1.0 - density * ratio)
    w = v * (v + t)
    return v, -w, 0.5 * (w * (v + t) - v * (1.0 - w))


TAYLOR_TERMS: Final = _taylor_terms()


def win_moments(t: Array) -> tuple[Array, Array]:
    """Returns v and w of a positive difference with its mean at ``t``.

    Both come from the nearest point of a table. The errors are at most 2e-10 in v and 5e-9 in w.
    """
    t = np.clip(t, -FARTHEST, FARTHEST)
    rest = t * POINTS
    nearest = np.rint(rest)
    rest -= nearest
    rest /= POINTS
    with np.errstate(invalid="ignore"):  # NaN, of a fit that does not settle, stays NaN
        place = nearest.astype(np.intp)
    place += FARTHEST * POINTS
    value, slope, bend = TAYLOR_TERMS
    v = bend.take(place, mode="clip")  # faster than the default mode
    v *= rest
    v += slope.take(place, mode="clip")
    v *= rest
    v += value.take(place, mode="clip")
    w = v + t
    w *= v
    return v, np.clip(w, 0.0, 1.0 - CERTAIN)


def tie_moments(t: Array, margin: Array) -> tuple[Array, Array]:
    """Returns v and w of a difference within ``tie_margin`` of 0, with its mean at ``t``."""
    margin = np.minimum(margin, WIDEST)
    distance = np.minimum(np.abs(t), FARTHEST)
    near, far = margin - distance, -margin - distance
    step = -2.0 * margin * distance
    tail = np.exp(step)
    mass = lower_mills_ratio(near) - tail * lower_mills_ratio(far)
    v = np.expm1(step) / mass
    w = v * v + (near - far * tail) / mass
    return np.copysign(v, -t), np.clip(w, 0.0, 1.0 - CERTAIN)


def tie_margin(share: float, width: float = 2.0**0.5) -> float:
    """Returns the difference in beta below which this share of performances ties.

    ``width`` is the standard deviation of all differences; the default is for equals.
    """
    return float(NormalDist().inv_cdf((1.0 + share) / 2.0) * width)
