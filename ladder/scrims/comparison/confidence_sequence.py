"""A confidence sequence for the mean of paired differences. It may be looked at after every pair.

For each possible mean, a bettor with a capital of 1 bets that the true mean is larger. At the true
mean no strategy earns: the chance that the capital ever reaches ``1 / error`` is at most ``error``
(Ville's inequality). So all means at which it reached that are excluded, at any time.

Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", Journal
of the Royal Statistical Society B 86 (2024), section 4. Their stakes aim at the shortest interval;
ours aim at the margin, because only two means decide: 0 and the margin.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

AIMS: Final = ((0.5, 0.25), (1.0, 0.5), (2.0, 0.25))
"""Bettors: the difference that each expects, in margins, and its share of the capital."""
MOST_LOST: Final = 0.75
"""Largest share of the capital that one pair can cost."""
HALVINGS: Final = 24  # a bound is exact to 2 ** -23


def log_capital(differences: Array, mean: float, margin: float) -> Array:
    """Returns the logarithm of the capital after each pair, of bets that the mean is larger.

    ``differences`` has the shape (..., pairs), each in [-1, 1], and so has the result. A larger
    ``mean`` never gives a larger capital. A stake depends on earlier pairs only.
    """
    before = np.arange(1, differences.shape[-1] + 1)  # pairs before this one, and one assumed pair
    squares = _sum_before(differences**2) + 1.0
    variance = squares / before - (_sum_before(differences) / before) ** 2
    logs = []
    for aim, share in AIMS:
        expected = aim * margin
        stake = np.minimum(expected / (variance + expected**2), MOST_LOST / (1.0 + mean))
        logs.append(np.log(share) + np.cumsum(np.log1p(stake * (differences - mean)), axis=-1))
    total: Array = np.logaddexp.reduce(np.stack(logs), axis=0)
    return total


def lower_bound(differences: Array, margin: float, error: float, decisive: float) -> float:
    """Returns a bound that at every pair is below the true mean, except with chance ``error``.

    ``differences`` has the shape (pairs,). ``decisive`` is the mean that a verdict asks about: the
    bound is larger than it exactly if the capital at this mean ever reached ``1 / error``.
    """
    if not len(differences):
        return -1.0
    limit = -np.log(error)
    low, high, middle = -1.0, 1.0, decisive
    for _ in range(HALVINGS):
        if log_capital(differences, middle, margin).max() >= limit:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return -1.0 if low == -1.0 else high


def upper_bound(differences: Array, margin: float, error: float, decisive: float) -> float:
    """Returns a bound above the true mean, as ``lower_bound`` returns one below it."""
    return -lower_bound(-differences, margin, error, -decisive)


def _sum_before(values: Array) -> Array:
    """The sum of the values before each one."""
    return np.cumsum(values, axis=-1) - values
