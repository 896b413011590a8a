"""Decides how much a resubmission inherits from its parent.

Most resubmissions play almost like their parent, and a few play very differently. So the fit models
the change of skill by Student's t distribution, which allows rare large changes. As soon as the
games contradict the parent's mean, that mean loses most of its weight. If the fault rates of a
resubmission and its parent differ much, the parent's mean is not used.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.game_table import GameTable

Floats = NDArray[np.float64]

CHANGE_SCALE: Final = 0.3
"""Scale of the change of a resubmission, in beta."""
CHANGE_FREEDOM: Final = 1.0
"""Degrees of freedom of this change."""
CHANGE_DEVIATION: Final = CHANGE_SCALE / 0.6745
"""Deviation in beta of a normal distribution that has half of all changes in the same interval."""
STEPS: Final = 32
"""Steps of expectation maximization."""
APART: Final = 0.3
"""A parent is dropped if the fault rates differ by more than this."""
LEAST_GAMES: Final = 2
"""Games of a resubmission before its fault rate is compared."""
PRIOR_GAMES: Final = 1.0
PRIOR_SHARE: Final = 0.1
"""Prior of a fault rate: one more game, with a tenth of a fault."""


def parents_to_keep(games: GameTable, parents: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns each contender's parent, or -1 if it has none or the fault rates differ too much:
    [contenders].
    """
    n = len(parents)
    there = games.contenders >= 0
    who = games.contenders[there]
    played = np.bincount(who, minlength=n)
    faults = np.bincount(who[games.faults[there]], minlength=n)
    share = (faults + PRIOR_SHARE) / (played + PRIOR_GAMES)
    apart = np.abs(share - share[np.maximum(parents, 0)]) > APART
    return np.where(apart & (played >= LEAST_GAMES), np.int32(-1), parents)


def change_variances(precision: Floats, off: Floats, parent_variance: Floats) -> Floats:
    """Estimates the variance of each resubmission's change of skill; arrays are [resubmissions].

    ``precision``: precision of the skill by the games alone, in 1 / beta^2. ``off``: ``precision``
    times the distance of that skill from the parent's mean, in 1 / beta. ``parent_variance`` and
    the result are in beta^2.

    A t distribution is a normal distribution whose variance is itself random. Expectation
    maximization estimates this variance. Source: Lange, Little and Taylor, Robust Statistical
    Modeling Using the t Distribution, JASA 84 (1989).
    """
    square = CHANGE_SCALE**2
    told = 1.0 / (1.0 + precision * parent_variance)
    variance = np.full(len(precision), square)
    for _ in range(STEPS):
        left = 1.0 / (1.0 / variance + precision * told)
        expected = (left * told * off) ** 2 + left
        variance = (CHANGE_FREEDOM * square + expected) / (CHANGE_FREEDOM + 1.0)
    return variance
