"""Finds groups of contenders that games have not told apart. Pure.

The estimates of equal contenders spread by their own uncertainty alone. So a group shows as a peak
of the same width: more estimates lie within one deviation of its middle than the neighbourhood and
the spread of the field explain. Likeness alone proves nothing: a group holds honest contenders of
the same strength too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.truncated_gaussian import normal_cdf

Floats = NDArray[np.float64]

WIDEST_SIGMA: Final = 0.35
"""In beta. Less known contenders are no middle of a group."""
LEAST_SURE: Final = 3.5
"""Standard errors by which the excess of a group must exceed 0."""
MOST_GROUPS: Final = 20
INNER: Final = 0.6827
"""Share of a group within one deviation of its middle."""
OUTER: Final = 0.3146
"""Share between one and three deviations."""
REACH: Final = 2.0
"""Deviations from the middle to the farthest members."""
WITHIN_REACH: Final = 0.9545


@dataclass(frozen=True, slots=True)
class EqualGroup:
    """Contenders of one score, more than the rest of the field explains."""

    middle: float
    """In beta."""
    members: NDArray[np.intp]
    """Places of the contenders, nearest to the middle first."""
    excess: float
    """Estimated number of members that the rest of the field does not explain."""

    @property
    def share(self) -> float:
        """Returns the probability that a member belongs to the equal ones."""
        return min(1.0, self.excess * WITHIN_REACH / max(len(self.members), 1))


def find_equal_groups(mu: Floats, sigma: Floats) -> list[EqualGroup]:
    """Returns the groups of this field, the surest first; ``mu`` and ``sigma`` are in beta."""
    found: list[EqualGroup] = []
    left = np.arange(len(mu))
    while len(found) < MOST_GROUPS:
        group = _surest_group(mu[left], sigma[left], len(mu))
        if group is None:
            break
        found.append(EqualGroup(group.middle, left[group.members], group.excess))
        left = np.setdiff1d(left, found[-1].members)
    return found


def _surest_group(mu: Floats, sigma: Floats, field: int) -> EqualGroup | None:
    known = np.flatnonzero(sigma <= WIDEST_SIGMA)
    if len(known) < LEAST_SURE**2 / 2:
        return None
    middle, width = mu[known], np.maximum(sigma[known], 1e-6)
    inner, both = (_count_within(mu, middle, reach * width) for reach in (1.0, 3.0))
    spread, centre = max(float(mu.std()), 1e-6), float(mu.mean())
    likely, wide = (
        normal_cdf((middle + reach * width - centre) / spread)
        - normal_cdf((middle - reach * width - centre) / spread)
        for reach in (1.0, 3.0)
    )
    outer = both - inner
    contrast = 2.0 * inner - outer - len(mu) * (3.0 * likely - wide)
    sureness = contrast / np.sqrt(np.maximum(4.0 * inner + outer, 1.0))
    best = int(sureness.argmax())
    if sureness[best] < LEAST_SURE:
        return None
    at = float(middle[best])
    for _ in range(2):  # the surest contender may stand at the side of the group
        away = np.abs(mu - at)
        members = np.flatnonzero(away <= REACH * np.maximum(sigma, width[best]))
        at = float(np.median(mu[members]))
    members = members[np.argsort(away[members], kind="stable")]
    excess = float(contrast[best]) / (2.0 * INNER - OUTER)
    return EqualGroup(at, members, min(excess, float(field)))


def _count_within(mu: Floats, middle: Floats, reach: Floats) -> NDArray[np.intp]:
    ordered = np.sort(mu)
    return np.searchsorted(ordered, middle + reach, side="right") - np.searchsorted(
        ordered, middle - reach
    )
