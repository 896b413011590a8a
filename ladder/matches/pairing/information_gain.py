"""Computes the value of one more game: loss, variance and their reduction.

The unit of skill is beta. A game of ``seats`` equal players gives each of them the information F =
``fisher_information(seats)``. It divides the variance v by 1 + v F. The loss falls with this
variance.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LUCK: Final = 1.2825**2  # information of one duel's margin at equal skill
NODES: Final = np.array([0.0, -1.3556262, 1.3556262, -2.8569700, 2.8569700])  # Gauss-Hermite
SHARES: Final = np.array([0.5333333, 0.2220759, 0.2220759, 0.0112574, 0.0112574])
REACH: Final = 8.0  # range of the density, in beta on each side of the median
CELLS: Final = 512


@lru_cache
def fisher_information(seats: int) -> float:
    """Returns the Fisher information of a game about one player, per beta squared."""
    return LUCK / seats * sum(1 - 1 / m for m in range(2, seats + 1))


def order_loss(field: Floats, mu: Floats, sigma: Floats) -> Floats:
    """Returns 6 Var(rank) / n^3 of contenders, from means and deviations in beta.

    The rank of a skill is its place in the distribution of all means of the field. Its variance
    over the contender's posterior uses five points. The uncertainty of others is omitted, because
    this contender's games do not reduce it.
    """
    low = np.median(field) - REACH
    scale = CELLS / (2 * REACH)
    cells = np.clip((field - low) * scale, 0, CELLS - 1).astype(np.intp)
    here = np.bincount(cells, minlength=CELLS + 1) / len(field)
    below = np.cumsum(here) - here
    at = np.clip((mu - low + sigma * NODES[:, None]) * scale, 0, CELLS)
    cell = at.astype(np.intp)
    share = below[cell] + (at - cell) * here[cell]
    mean = SHARES @ share
    variance = np.maximum(SHARES @ share**2 - mean**2, 0.0)
    loss: Floats = 6 * variance / len(field)
    return loss
