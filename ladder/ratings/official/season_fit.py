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
from ladder.ratings.official.fit import Fit, Messages, Prior, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.standing import PARENT_SD

GROWTH: Final = 1.05
"""A fit is due after the log grew by this factor."""
ORDER_GAMES: Final = 20
"""Up to this mean number of games of a contender, only the order counts while uploads are open."""
OPEN_WEIGHT: Final = 0.1
FINAL_WEIGHT: Final = 5.0
"""Weight of medal boundaries in a game's value: then, and after uploads close."""


def fit_season(
    games: GameTable, parents: NDArray[np.int32], *, warm: Messages | None = None
) -> Fit:
    """Returns the fit of all games; ``parents`` are those of ``SeasonLog``: [contenders]."""
    n = len(parents)
    kept = resubmission_inheritance.parents_to_keep(games, parents)
    return fit(games, Prior(np.full(n, np.nan), np.full(n, np.nan), kept, PARENT_SD), warm=warm)


def boundary_weight(fitted: Fit, is_open: bool) -> float:
    """Returns the weight of medal boundaries; ``is_open`` says whether uploads are open."""
    if not is_open:
        return FINAL_WEIGHT
    return OPEN_WEIGHT if fitted.played.sum() >= ORDER_GAMES * len(fitted.played) else 0.0


def season_seed(season_id: SeasonId) -> int:
    """Returns 63 bits that nobody chooses, the same for all versions.

    So repeated fits do not raise the chance that a medal is sealed.
    """
    drawn = hashlib.sha256(season_id.encode()).digest()
    return int.from_bytes(drawn[:8], "big") >> 1
