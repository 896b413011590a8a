"""Fits the games of a season with the priors of the service. Pure.

The service and the simulated ladders of ``benchmarks.rating`` call the same functions.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
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
    games: GameTable,
    parents: NDArray[np.int32],
    *,
    warm: Messages | None = None,
    faults_are_losses: bool = True,
) -> Fit:
    """Returns the fit of all games; ``parents`` are those of ``SeasonLog``: [contenders].

    ``faults_are_losses``: in games of two seats a fault counts as a plain loss. A benchmark
    compares both ways.
    """
    n = len(parents)
    kept = resubmission_inheritance.parents_to_keep(games, parents)
    prior = Prior(np.full(n, np.nan), np.full(n, np.nan), kept)
    fitted = fit(games.with_faults_as_losses() if faults_are_losses else games, prior, warm=warm)
    failed = games.contenders[games.faults & (games.contenders >= 0)]
    return replace(fitted, failed=np.bincount(failed, minlength=n))


def season_seed(season_id: SeasonId) -> int:
    """Returns 63 bits that nobody chooses, the same for all versions.

    So repeated fits do not raise the chance that a medal is sealed.
    """
    drawn = hashlib.sha256(season_id.encode()).digest()
    return int.from_bytes(drawn[:8], "big") >> 1
