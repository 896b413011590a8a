"""What one more game of a contender teaches: loss, variance and what a game takes off them.

The unit of skill is beta. A game of ``seats`` equals tells ``information(seats)`` about each of
them, so it divides a variance v by 1 + v F; the loss shrinks with the variance that causes it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LUCK: Final = 1.2825**2  # information of one duel's margin at equal skill, rating.md section 4
NODES: Final = np.array([0.0, -1.3556262, 1.3556262, -2.8569700, 2.8569700])  # Gauss-Hermite
SHARES: Final = np.array([0.5333333, 0.2220759, 0.2220759, 0.0112574, 0.0112574])
REACH: Final = 8.0  # beta on either side of the median that the density is told apart in
CELLS: Final = 512


@lru_cache
def fisher_information(seats: int) -> float:
    """Fisher information of one game about one of its players, per beta squared."""
    return LUCK / seats * sum(1 - 1 / m for m in range(2, seats + 1))


def order_loss(field: Floats, mu: Floats, sigma: Floats) -> Floats:
    """6 Var(rank) / n^3 of contenders, from means and deviations (in beta) alone.

    The rank of a skill is read off the distribution of all means of the field; its variance over
    the contender's own posterior is taken at five points. What the others' doubts add is left
    out: this contender's games do not remove it.
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
