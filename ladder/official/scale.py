"""From the fit's unit (beta, the SD of one player's luck in one game) to points. Pure."""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

START: Final = 600.0
"""The score of the reference."""
BETA: Final = 150.0
"""Points to a beta: as many of them ahead win 75 or 76 games of 100."""

Number = TypeVar("Number", float, NDArray[np.float64])


def score(mu: Number, mu_ref: float) -> Number:
    """Means as points, with the reference agents' mean at ``START``."""
    return START + BETA * (mu - mu_ref)


def shown(sigma: Number) -> Number:
    """Standard deviations as points."""
    return BETA * sigma
