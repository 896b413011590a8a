"""Finds groups of contenders that games have not told apart. Pure.

The estimates of equal contenders spread by little more than their own uncertainty. So a group shows
as a peak of that width: more estimates lie near its middle than the neighbourhood, the spread and
the skewness of the field explain. Likeness alone proves nothing: a group holds honest contenders of
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
"""In beta. A contender with a larger deviation cannot be the middle of a group."""
LEAST_KNOWN_SIGMA: Final = 0.5
"""In beta. Contenders with larger deviations are not counted: many new ones would hide a group."""
FAR: Final = 0.25
"""Contenders whose deviation is at most this share of their distance from the median are counted
too: the best and the worst show the shape of the field, and are known late."""
WIDER: Final = 1.25
"""The estimates of equal contenders have up to this many times the deviation that the fit states:
equals mostly meet each other, so their errors are not independent. All deviations below are
multiplied by this."""
FIRST_LOOK: Final = 2.5
"""A contender is tried as the middle of a group if the excess around it is at least this many
standard errors."""
LEAST_SURE: Final = 4.0
"""The excess of a group is at least this many standard errors. This is computed again with a field
without its members: many copies make the whole field look denser around them."""
MOST_SKEW: Final = 2.0
"""Largest skewness of a field without groups: that of an exponential distribution."""
FEWEST: Final = 8
"""A group has at least this many members. In the tails of a field, one contender can be far more
than a smooth field has there."""
MOST_GROUPS: Final = 20
TRIED: Final = 0.5
"""Deviations around a contender that is no middle of a group: nobody within is tried as one."""
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
"""Share of a group within ``REACH`` deviations."""


@dataclass(frozen=True, slots=True)
class EqualGroup:
    """Contenders with about equal scores, of which there are more than the rest explains."""

    middle: float
    """In beta."""
    members: NDArray[np.intp]
    """Places of the contenders that belong to the equal ones with a probability of a half or more,
    the likeliest first."""
    chances: Floats
    """These probabilities."""
    share: float
    """Share of the contenders near the middle that the rest of the field does not explain."""
    sureness: float
    """Standard errors of the excess of contenders here over the rest of the field."""

    @property
    def explained(self) -> float:
        """Returns the expected number of members that are not one of the equal ones."""
        return (1.0 - self.share) * len(self.members)

    @property
    def doubtful(self) -> float:
        """Returns the number of members that are not one of the equal ones, by their chances.

        This is a low estimate, far too low if the equal ones spread less than ``WIDER`` says.
        """
        return float((1.0 - self.chances).sum())


def find_equal_groups(mu: Floats, sigma: Floats) -> list[EqualGroup]:
    """Returns the groups of this field, the surest first; ``mu`` and ``sigma`` are in beta.

    Contenders near a group cannot be the middle of another, and a member belongs to one group. They
    still count in the field: without them, the places beside a group would look like groups.
    """
    if not len(mu):
        return []
    far = FAR * np.abs(mu - np.median(mu))
    known = np.flatnonzero(sigma <= np.maximum(LEAST_KNOWN_SIGMA, far))
    mu, sigma = mu[known], sigma[known]
    middles = np.flatnonzero(sigma <= WIDEST_SIGMA)
    found: list[EqualGroup] = []
    taken = np.zeros(0, np.intp)
    if len(middles) < FEWEST:
        return found
    sigma = WIDER * np.maximum(sigma, 1e-6)
    contrast, error = _contrasts(mu, mu[middles], sigma[middles])
    untried = contrast / error
    while len(found) < MOST_GROUPS:
        best = int(untried.argmax())
        if untried[best] < FIRST_LOOK:
            break
        group, near = _make_group(mu, sigma, middles[best], contrast[best], error[best])
        if group.sureness >= LEAST_SURE and len(group.members) >= FEWEST:
            untried[np.isin(middles, near)] = 0.0
            untried[best] = 0.0
            other = ~np.isin(group.members, taken)
            taken = np.concatenate((taken, group.members))
            if other.any():
                members, chances = known[group.members[other]], group.chances[other]
                found.append(replace(group, members=members, chances=chances))
        else:
            apart = np.abs(mu[middles] - mu[middles[best]])
            untried[apart <= TRIED * sigma[middles[best]]] = 0.0
    return sorted(found, key=lambda group: -group.sureness)


def _contrasts(mu: Floats, middle: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Returns how far the field at each middle differs from one without equals.

    Twice the contenders within one deviation minus those between one and three, less what a smooth
    field has. Also returns the standard errors of these numbers.
    """
    inner, both = (_count_within(mu, middle, reach * width) for reach in (1.0, 3.0))
    outer = both - inner
    contrast: Floats = 2.0 * inner - outer - _usual_contrast(mu, np.ones(len(mu)), middle, width)
    return contrast, np.sqrt(np.maximum(4.0 * inner + outer, 1.0))


def _usual_contrast(mu: Floats, weight: Floats, middle: Floats, width: Floats) -> Floats:
    """Returns the contrasts that a smooth field has; ``weight`` counts each contender."""
    likely, wide = (_usual_count(mu, weight, middle, reach * width) for reach in (1.0, 3.0))
    usual: Floats = 3.0 * likely - wide
    return usual


def _usual_count(mu: Floats, weight: Floats, middle: Floats, reach: Floats) -> Floats:
    """Returns how many contenders a smooth field has within reach of each middle.

    This is a gamma distribution with the field's mean, deviation and skewness; without skewness, a
    normal one. Source: Wilson and Hilferty, The Distribution of Chi-Square, PNAS 17 (1931): the
    cube root of a gamma variable is nearly normal.
    """
    count = float(weight.sum())
    centre = float(weight @ mu) / count
    spread = max(float(np.sqrt(weight @ (mu - centre) ** 2 / count)), 1e-6)
    third = float(weight @ ((mu - centre) / spread) ** 3) / count
    half = max(min(abs(third), MOST_SKEW), 1e-3) / 2.0 * (1.0 if third >= 0.0 else -1.0)
    low, high = (
        normal_cdf(3.0 / half * (np.cbrt(np.maximum(1.0 + half * at, 0.0)) - 1.0) + half / 3.0)
        for at in ((middle - reach - centre) / spread, (middle + reach - centre) / spread)
    )
    within: Floats = count * (high - low)
    return within


def _make_group(
    mu: Floats, sigma: Floats, best: int, contrast: float, error: float
) -> tuple[EqualGroup, NDArray[np.intp]]:
    """Returns the group around this contender, and all contenders near its middle."""
    at, width = float(mu[best]), float(sigma[best])
    for _ in range(2):  # the contender may be at the side of the group
        at = float(np.median(mu[np.abs(mu - at) <= REACH * width]))
    near = np.flatnonzero(np.abs(mu - at) <= REACH * np.maximum(sigma, width))
    rest = np.ones(len(mu))
    seen = contrast + _usual_contrast(mu, rest, mu[[best]], sigma[[best]])[0]
    for _ in range(REFINED + 1):
        excess = float(np.clip(contrast / (2.0 * INNER - OUTER), 0.0, len(mu)))
        chances = _membership_chances(mu[near] - at, sigma[near], excess, width)
        rest[near] = 1.0 - chances
        contrast = seen - _usual_contrast(mu, rest, mu[[best]], sigma[[best]])[0]
    likely_first = np.argsort(-chances, kind="stable")
    likely_first = likely_first[chances[likely_first] >= LEAST_CHANCE]
    usual = float(_usual_count(mu, rest, np.array([at]), REACH * sigma[[best]])[0])
    within = int(np.count_nonzero(np.abs(mu - at) <= REACH * width))
    share = max(0.0, 1.0 - usual / max(1, within))
    members, sureness = near[likely_first], float(contrast / error)
    return EqualGroup(at, members, chances[likely_first], share, sureness), near


def _membership_chances(away: Floats, sigma: Floats, excess: float, width: float) -> Floats:
    """Returns the probability that each contender near the middle belongs to the equal ones.

    The equal ones spread by these deviations, and the others evenly over the reach.
    """
    others = max(len(away) - excess * WITHIN_REACH, 1.0) / (2.0 * REACH * width)
    equals = excess * np.exp(-((away / sigma) ** 2) / 2.0) / (sigma * (2.0 * np.pi) ** 0.5)
    chances: Floats = equals / (equals + others)
    return chances


def _count_within(mu: Floats, middle: Floats, reach: Floats) -> NDArray[np.intp]:
    ordered = np.sort(mu)
    return np.searchsorted(ordered, middle + reach, side="right") - np.searchsorted(
        ordered, middle - reach
    )
