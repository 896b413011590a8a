"""Decides which resubmissions inherit from their parents, by the change of their fault rate.

A parent's mean is a good estimate for a bundle that plays the same way. If a bundle starts or stops
to crash, the parent's mean would be wrong for it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.game_table import GameTable

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
