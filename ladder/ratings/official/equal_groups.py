"""Finds groups of contenders that games have not told apart. Pure.

The estimates of equal contenders spread by their own uncertainty alone. So a group shows as a peak
of the same width: more estimates lie within one deviation of its middle than the neighbourhood and
the spread of the field explain. Likeness alone proves nothing: a group holds honest contenders of
the same strength too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
"""Deviations from the middle to the farthest contenders that may be members."""
REFINED: Final = 2
"""How often a group is found again in a field without its members, which widen the field."""
LEAST_CHANCE: Final = 0.5
"""Least probability with which a contender is a member."""
WITHIN_REACH: Final = 0.9545


@dataclass(frozen=True, slots=True)
class EqualGroup:
    """Contenders of one score, more than the rest of the field explains."""

    middle: float
    """In beta."""
    members: NDArray[np.intp]
    """Places of the contenders that belong to the equal ones with a probability of a half or more,
    the likeliest first."""
    chances: Floats
    """These probabilities."""
    excess: float
    """Estimated number of contenders here that the rest of the field does not explain."""
    near: int
    """Number of contenders near the middle."""
    sureness: float
    """Standard errors by which the excess exceeds 0."""

    @property
    def share(self) -> float:
        """Returns the share of the contenders near the middle that the rest does not explain."""
        return min(1.0, self.excess * WITHIN_REACH / max(self.near, 1))

    @property
    def explained(self) -> float:
        """Returns the expected number of members that are not one of the equal ones."""
        return float((1.0 - self.chances).sum())


def find_equal_groups(mu: Floats, sigma: Floats) -> list[EqualGroup]:
    """Returns the groups of this field, the surest first; ``mu`` and ``sigma`` are in beta.

    Contenders near a group cannot be the middle of another, and a member belongs to one group. They
    still count in the field: without them, the places beside a group would look like groups.
    """
    middles = np.flatnonzero(sigma <= WIDEST_SIGMA)
    found: list[EqualGroup] = []
    taken = np.zeros(0, np.intp)
    if len(middles) < LEAST_SURE**2 / 2:
        return found
    contrast, sureness = _contrasts(mu, mu[middles], np.maximum(sigma[middles], 1e-6))
    while len(found) < MOST_GROUPS:
        best = int(sureness.argmax())
        if sureness[best] < LEAST_SURE:
            break
        width = max(float(sigma[middles[best]]), 1e-6)
        group, near = _make_group(mu, sigma, middles[best], float(contrast[best]), width)
        other = ~np.isin(group.members, taken)
        taken = np.concatenate((taken, group.members))
        found.append(
            replace(
                group,
                members=group.members[other],
                chances=group.chances[other],
                sureness=float(sureness[best]),
            )
        )
        sureness[best] = 0.0
        sureness[np.isin(middles, near)] = 0.0
    return found


def _contrasts(mu: Floats, middle: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Returns how far the field at each middle differs from one without equals.

    Twice the contenders within one deviation minus those between one and three, less what a normal
    field has. Also returns this in standard errors.
    """
    inner, both = (_count_within(mu, middle, reach * width) for reach in (1.0, 3.0))
    outer = both - inner
    contrast: Floats = 2.0 * inner - outer - _normal_contrast(mu, np.ones(len(mu)), middle, width)
    return contrast, contrast / np.sqrt(np.maximum(4.0 * inner + outer, 1.0))


def _normal_contrast(mu: Floats, weight: Floats, middle: Floats, width: Floats) -> Floats:
    """Returns the contrasts that a normal field has; ``weight`` counts each contender."""
    count = float(weight.sum())
    centre = float(weight @ mu) / count
    spread = max(float(np.sqrt(weight @ (mu - centre) ** 2 / count)), 1e-6)
    likely, wide = (
        normal_cdf((middle + reach * width - centre) / spread)
        - normal_cdf((middle - reach * width - centre) / spread)
        for reach in (1.0, 3.0)
    )
    normal: Floats = count * (3.0 * likely - wide)
    return normal


def _make_group(
    mu: Floats, sigma: Floats, best: int, contrast: float, width: float
) -> tuple[EqualGroup, NDArray[np.intp]]:
    """Returns the group around this contender, and all contenders near its middle."""
    at = float(mu[best])
    for _ in range(2):  # the surest contender may stand at the side of the group
        away = np.abs(mu - at)
        near = np.flatnonzero(away <= REACH * np.maximum(sigma, width))
        at = float(np.median(mu[near]))
    rest = np.ones(len(mu))
    middle, reach = mu[[best]], np.array([width])
    seen = contrast + float(_normal_contrast(mu, rest, middle, reach)[0])
    for _ in range(REFINED + 1):
        excess = min(contrast / (2.0 * INNER - OUTER), float(len(mu)))
        chances = _membership_chances(mu[near] - at, sigma[near], excess, width)
        rest[near] = 1.0 - chances
        contrast = seen - float(_normal_contrast(mu, rest, middle, reach)[0])
    likely_first = np.argsort(-chances, kind="stable")
    likely_first = likely_first[chances[likely_first] >= LEAST_CHANCE]
    group = EqualGroup(at, near[likely_first], chances[likely_first], excess, len(near), 0.0)
    return group, near


def _membership_chances(away: Floats, sigma: Floats, excess: float, width: float) -> Floats:
    """Returns the probability that each contender near the middle belongs to the equal ones.

    The equal ones spread by their own deviations, and the others evenly over the reach.
    """
    sigma = np.maximum(sigma, 1e-6)
    others = max(len(away) - excess * WITHIN_REACH, 1.0) / (2.0 * REACH * width)
    equals = excess * np.exp(-((away / sigma) ** 2) / 2.0) / (sigma * (2.0 * np.pi) ** 0.5)
    chances: Floats = equals / (equals + others)
    return chances


def _count_within(mu: Floats, middle: Floats, reach: Floats) -> NDArray[np.intp]:
    ordered = np.sort(mu)
    return np.searchsorted(ordered, middle + reach, side="right") - np.searchsorted(
        ordered, middle - reach
    )
