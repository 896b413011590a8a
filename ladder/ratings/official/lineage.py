"""Which resubmissions still tell of their parents: one that begins or stops to crash does not.

A parent's mean is a good guess for a bundle that plays on as it did. A bundle whose faults are
another matter is another contender, and holding it to its parent would be a lie about both.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.games import GameTable

APART: Final = 0.3
"""Difference of the two's shares of faults beyond which one tells nothing of the other."""
LEAST_GAMES: Final = 2
PRIOR_GAMES: Final = 1.0
PRIOR_SHARE: Final = 0.1
"""A share is counted as if there had been one game more, with a tenth of a fault."""


def parents_to_keep(games: GameTable, parents: NDArray[np.int32]) -> NDArray[np.int32]:
    """The parents of these contenders, -1 where there is none or it tells nothing."""
    n = len(parents)
    there = games.contenders >= 0
    who = games.contenders[there]
    played = np.bincount(who, minlength=n)
    faults = np.bincount(who[games.faults[there]], minlength=n)
    share = (faults + PRIOR_SHARE) / (played + PRIOR_GAMES)
    apart = np.abs(share - share[np.maximum(parents, 0)]) > APART
    return np.where(apart & (played >= LEAST_GAMES), np.int32(-1), parents)
