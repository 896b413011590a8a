"""Computes how probable at least a given number of events is. Pure."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NODES: Final = np.array([0.0, -1.3556262, 1.3556262, -2.8569700, 2.8569700])
SHARES: Final = np.array([0.5333333, 0.2220759, 0.2220759, 0.0112574, 0.0112574])
"""Gauss-Hermite points of a standard normal distribution."""
SERIES: Final = 60
"""Number of terms of a Poisson tail."""


def binomial_tails(least: Floats, count: Floats, p: Floats) -> Floats:
    """Returns the probability of at least ``least`` of ``count`` at each chance: [n, chances]."""
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    log_p, log_q = np.log(p), np.log1p(-p)
    most = int(count.max(initial=0.0))
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    tails = np.zeros(p.shape)
    left = np.arange(len(p))
    have, of = least.astype(np.intp), count.astype(np.intp)
    while len(left):
        ways = log_factorial[of] - log_factorial[have] - log_factorial[of - have]
        lost, won = have[:, None], (of - have)[:, None]
        tails[left] += np.exp(ways[:, None] + lost * log_p[left] + won * log_q[left])
        more = have < of
        left, have, of = left[more], have[more] + 1, of[more]
    return tails


def poisson_tail(least: int, mean: float) -> float:
    """Returns the probability of at least ``least`` events."""
    if mean <= 0.0:
        return 1.0
    return max(
        0.0,
        math.fsum(
            math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))
            for k in range(least, least + SERIES)
        ),
    )
