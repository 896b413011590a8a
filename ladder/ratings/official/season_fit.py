"""Fits the games of a season with the priors of the service. Pure.

The service and the simulated ladders of ``benchmarks.rating`` call the same functions.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ids import SeasonId
from ladder.ratings.official import resubmission_inheritance
from ladder.ratings.official.fit import Fit, Messages, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior

GROWTH: Final = 1.05
"""A fit is due after the log grew by this factor."""


def fit_season(
    games: GameTable, parents: NDArray[np.int32], *, warm: Messages | None = None
) -> Fit:
    """Returns the fit of all games; ``parents`` are those of ``SeasonLog``: [contenders]."""
    n = len(parents)
    kept = resubmission_inheritance.parents_to_keep(games, parents)
    return fit(games, Prior(np.full(n, np.nan), np.full(n, np.nan), kept), warm=warm)


def season_seed(season_id: SeasonId) -> int:
    """Returns 63 bits that nobody chooses, the same for all versions.

    So repeated fits do not raise the chance that a medal is sealed.
    """
    drawn = hashlib.sha256(season_id.encode()).digest()
    return int.from_bytes(drawn[:8], "big") >> 1
