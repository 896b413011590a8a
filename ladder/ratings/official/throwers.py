"""Finds contenders that lose to one favourite against expectation. Pure.

Each pair's results are compared with its skills. The favourite's own skill is estimated without the
suspicious pairs, because thrown games raise it. One unlikely pair proves little among thousands. So
a favourite is suspect if more of its opponents lose unlikely than chance explains, or if one does
so beyond chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.message_passing import sum_by_contender
from ladder.ratings.official.overdispersion import HIGH, LOW, MetPairs
from ladder.ratings.official.truncated_gaussian import normal_cdf, win_moments

Floats = NDArray[np.float64]

UNLIKELY: Final = 0.005
"""Probability of such results from which a pair is unlikely."""
FIRST_LOOK: Final = 0.02
"""The same for the pairs without which skills are estimated."""
ALARM: Final = 0.01
"""Expected number of suspect favourites in a season without throwers."""
INNOCENT: Final = 0.1
"""Aimed share of innocents among the further opponents that a suspect favourite's page names."""
NODES: Final = np.array([0.0, -1.3556262, 1.3556262, -2.8569700, 2.8569700])
SHARES: Final = np.array([0.5333333, 0.2220759, 0.2220759, 0.0112574, 0.0112574])
"""Gauss-Hermite points of a standard normal distribution."""
ROOT2: Final = 2.0**0.5


@dataclass(frozen=True, slots=True)
class UnlikelyPair:
    """A contender that loses to the favourite more often than both skills say."""

    thrower: int
    meetings: int
    """Meetings without a fault or a tie."""
    lost: int
    expected: float
    """Expected number of losses."""
    chance: float
    """Probability of at least as many losses."""


@dataclass(frozen=True, slots=True)
class SuspectFavourite:
    """A contender to whom several others lose against expectation."""

    favourite: int
    pairs: tuple[UnlikelyPair, ...]
    """The least likely first."""
    chance: float
    """Expected number of favourites as suspect as this one in a season without throwers."""


def find_throwers(
    pairs: MetPairs, mu: Floats, sigma: Floats, kappa: float, alarm: float = ALARM
) -> list[SuspectFavourite]:
    """Returns the suspect favourites, the least likely first.

    ``pairs`` are all that met. ``mu`` and ``sigma`` are the contenders' skills in beta; NaN: not
    considered. ``kappa`` is the deviation of a pair's own advantage. ``alarm`` is the expected
    number of favourites in a season without throwers.
    """
    low, high = pairs.low[pairs.often], pairs.high[pairs.often]
    known = ~np.isnan(mu[low]) & ~np.isnan(mu[high])
    low, high, outcomes = low[known], high[known], pairs.outcomes[:, known]
    # Each pair twice: the loser (a possible thrower) and the winner (a possible favourite).
    loser, winner = np.concatenate([low, high]), np.concatenate([high, low])
    lost = np.concatenate([outcomes[HIGH], outcomes[LOW]])
    played = np.tile(outcomes[LOW] + outcomes[HIGH], 2)
    if not len(loser):
        return []
    skills = mu, sigma
    chance = _loss_chances(loser, winner, lost, played, skills, kappa)
    out = chance < FIRST_LOOK
    skills = _skills_without(loser[out], winner[out], lost[out], played[out], skills)
    chance[out] = _loss_chances(loser[out], winner[out], lost[out], played[out], skills, kappa)
    opponents = np.bincount(winner, minlength=len(mu))
    unlikely = np.flatnonzero(chance < UNLIKELY)
    field = int((~np.isnan(mu)).sum())
    found = []
    for favourite in np.unique(winner[unlikely]).tolist():
        own = unlikely[winner[unlikely] == favourite]
        own = own[np.argsort(chance[own], kind="stable")]
        many = _poisson_tail(len(own), UNLIKELY * opponents[favourite])
        one = float(chance[own[0]]) * float(opponents[favourite])
        expected_alarms = 2.0 * field * min(many, one)
        if expected_alarms < alarm:
            own = pairs_to_name(np.flatnonzero(winner == favourite), chance)
            expected = played[own] * _loss_probability(loser[own], winner[own], skills)
            suspects = tuple(
                UnlikelyPair(
                    int(loser[n]), int(played[n]), int(lost[n]), float(mean), float(chance[n])
                )
                for n, mean in zip(own.tolist(), expected.tolist(), strict=True)
            )
            found.append(SuspectFavourite(favourite, suspects, expected_alarms))
    return sorted(found, key=lambda each: each.chance)


def pairs_to_name(met: NDArray[np.intp], chance: Floats) -> NDArray[np.intp]:
    """Returns the pairs to name of all that a suspect favourite met, the least likely first.

    These are the pairs below ``UNLIKELY``. If many pairs are nearly so, there are more, up to
    ``FIRST_LOOK``. Source of this rule: Benjamini and Hochberg, Controlling the False Discovery
    Rate, JRSS B 57 (1995). Its bound holds only roughly here, because the pairs also chose the
    favourite.
    """
    ordered = met[np.argsort(chance[met], kind="stable")]
    bounds = np.minimum(INNOCENT * np.arange(1, len(met) + 1) / len(met), FIRST_LOOK)
    passes = chance[ordered] <= bounds
    many = int(np.flatnonzero(passes).max(initial=-1)) + 1
    return ordered[: max(many, int((chance[met] < UNLIKELY).sum()))]


def _loss_probability(
    loser: NDArray[np.intp], winner: NDArray[np.intp], skills: tuple[Floats, Floats]
) -> Floats:
    return np.asarray(normal_cdf((skills[0][winner] - skills[0][loser]) / ROOT2), np.float64)


def _loss_chances(
    loser: NDArray[np.intp],
    winner: NDArray[np.intp],
    lost: Floats,
    played: Floats,
    skills: tuple[Floats, Floats],
    kappa: float,
) -> Floats:
    """Returns the probability of at least so many losses, over the uncertainty of both skills."""
    mu, sigma = skills
    gap = mu[winner] - mu[loser]
    unsure = np.sqrt(sigma[winner] ** 2 + sigma[loser] ** 2 + kappa**2)
    chances = np.ones(len(loser))
    p = normal_cdf(gap / np.sqrt(2.0 + unsure**2))
    likely = lost - played * p
    rows = np.flatnonzero(likely > np.sqrt(played * p * (1.0 - p)))
    points = (gap[rows, None] + unsure[rows, None] * NODES) / ROOT2
    at = np.asarray(normal_cdf(points), np.float64)
    chances[rows] = _binomial_tails(lost[rows], played[rows], at) @ SHARES
    return chances


def _skills_without(
    loser: NDArray[np.intp],
    winner: NDArray[np.intp],
    lost: Floats,
    played: Floats,
    skills: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Returns the skills as if these pairs had not met, by one step of Newton's method."""
    mu, sigma = skills
    t = (mu[winner] - mu[loser]) / ROOT2
    up, up_weight = win_moments(t)
    down, down_weight = win_moments(-t)
    force = (lost * up - (played - lost) * down) / ROOT2
    weight = (lost * up_weight + (played - lost) * down_weight) / 2.0
    count = len(mu)
    pushed = sum_by_contender(winner, force, count) - sum_by_contender(loser, force, count)
    told = sum_by_contender(winner, weight, count) + sum_by_contender(loser, weight, count)
    before = sigma**-2.0
    left = np.maximum(before - told, 0.2 * before)
    return mu - pushed / left, left**-0.5


def _binomial_tails(least: Floats, count: Floats, p: Floats) -> Floats:
    """Returns the probability of at least ``least`` of ``count`` at each chance: [n, chances]."""
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    log_p, log_q = np.log(p), np.log1p(-p)
    most = int(count.max(initial=0.0))
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    tails = np.zeros(p.shape)
    left = np.arange(len(p))
    have, of = least.astype(np.intp), count.astype(np.intp)
    while len(left):
        ways = log_factorial[of] - log_factorial[have] - log_factorial[of - have]
        lost, won = have[:, None], (of - have)[:, None]
        tails[left] += np.exp(ways[:, None] + lost * log_p[left] + won * log_q[left])
        more = have < of
        left, have, of = left[more], have[more] + 1, of[more]
    return tails


def _poisson_tail(least: int, mean: float) -> float:
    """Returns the probability of at least ``least`` events."""
    if mean <= 0.0:
        return 1.0
    return max(
        0.0,
        math.fsum(
            math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))
            for k in range(least, least + 60)
        ),
    )
