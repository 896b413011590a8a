"""Computes the value of one more game: loss, variance and their reduction.

The unit of skill is beta. A game of ``seats`` equal players gives each of them the information F =
``fisher_information(seats)``. It divides the variance v by 1 + v F. The loss falls with this
variance.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LUCK_STEP: Final = 0.002
LUCK: Final = np.arange(-9.0, 9.0, LUCK_STEP) + LUCK_STEP / 2  # of a player in one game, in beta
NODES: Final = np.array([0.0, -1.3556262, 1.3556262, -2.8569700, 2.8569700])  # Gauss-Hermite
SHARES: Final = np.array([0.5333333, 0.2220759, 0.2220759, 0.0112574, 0.0112574])
REACH: Final = 8.0  # range of the density, in beta on each side of the median
CELLS: Final = 512


@lru_cache
def fisher_information(seats: int) -> float:
    """Returns the Fisher information about one player from a game of equals, in 1 / beta^2.

    Performances are normal, as in TrueSkill. A player's luck is its performance minus its skill.
    The information is the mean square of the mean luck at each rank: 1 / pi for two seats.
    """
    if seats == 1:
        return 0.0
    density = np.exp(-(LUCK**2) / 2) / math.sqrt(2 * math.pi) * LUCK_STEP
    below = np.cumsum(density) - density / 2
    squares = 0.0
    for rank in range(seats):
        ways = seats * math.comb(seats - 1, rank)
        shown = ways * below**rank * (1 - below) ** (seats - 1 - rank)
        squares += float(density @ (LUCK * shown)) ** 2
    return squares / seats


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
