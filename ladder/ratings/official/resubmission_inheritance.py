"""Decides how much a resubmission inherits from its parent.

A parent's mean is a good estimate for a bundle that plays the same way. Most versions change
little, and a few change much. So the change has Student's t distribution: as soon as the games of a
version contradict its parent's mean, that mean counts little. If a bundle starts or stops to crash,
the parent's mean does not count at all.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.game_table import GameTable

Floats = NDArray[np.float64]

CHANGE_SCALE: Final = 0.3
"""Scale of the change of a resubmission, in beta."""
CHANGE_FREEDOM: Final = 2.0
"""Degrees of freedom of this change."""
STEPS: Final = 8
APART: Final = 0.3
"""Largest difference of fault rates between a contender and its parent."""
LEAST_GAMES: Final = 2
PRIOR_GAMES: Final = 1.0
PRIOR_SHARE: Final = 0.1
"""Prior of a fault rate: one more game, with a tenth of a fault."""


def parents_to_keep(games: GameTable, parents: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the parents that remain; -1 for none."""
    n = len(parents)
    there = games.contenders >= 0
    who = games.contenders[there]
    played = np.bincount(who, minlength=n)
    faults = np.bincount(who[games.faults[there]], minlength=n)
    share = (faults + PRIOR_SHARE) / (played + PRIOR_GAMES)
    apart = np.abs(share - share[np.maximum(parents, 0)]) > APART
    return np.where(apart & (played >= LEAST_GAMES), np.int32(-1), parents)


def change_variances(precision: Floats, off: Floats, parent_variance: Floats) -> Floats:
    """Returns the variance of each resubmission's change, by what its games tell of its skill.

    Their message has this ``precision``; ``off`` is the precision times the distance from the
    parent's mean. Units of beta; all arrays are [resubmissions].

    Student's t distribution is a normal one of unknown variance, which expectation maximization
    finds. Source: Lange, Little and Taylor, Robust Statistical Modeling Using the t Distribution,
    JASA 84 (1989).
    """
    square = CHANGE_SCALE**2
    told = 1.0 / (1.0 + precision * parent_variance)
    variance = np.full(len(precision), square)
    for _ in range(STEPS):
        left = 1.0 / (1.0 / variance + precision * told)
        expected = (left * told * off) ** 2 + left
        variance = (CHANGE_FREEDOM * square + expected) / (CHANGE_FREEDOM + 1.0)
    return variance
