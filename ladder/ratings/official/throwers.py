"""Finds contenders that lose to one favourite, or come last in games with it, too often. Pure.

Each pair's results are compared with its skills. The favourite's own skill is estimated without the
suspicious pairs, because thrown games raise it. One unlikely pair proves little among thousands. So
a favourite is suspect if more opponents have unlikely results than chance explains, or if one has
them beyond chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.event_counts import NODES, SHARES, binomial_tails, poisson_tail
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.last_places import LEAST_SEATS, count_last_places
from ladder.ratings.official.message_passing import sum_by_contender
from ladder.ratings.official.overdispersion import HIGH, LOW, MetPairs
from ladder.ratings.official.truncated_gaussian import normal_cdf, win_moments

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

UNLIKELY: Final = 0.005
"""Probability of such results from which a pair is unlikely."""
FIRST_LOOK: Final = 0.02
"""The same for the pairs without which skills are estimated."""
ALARM: Final = 0.01
"""Expected number of suspect favourites in a season without throwers."""
INNOCENT: Final = 0.1
"""Aimed share of innocents among the further opponents that a suspect favourite's page names."""
WATCHED: Final = 20
"""Number of favourites for whom last places are counted: those with most pairs below ``MILD``."""
MILD: Final = 0.1
"""Probability of a pair's losses below which the pair counts for that choice."""
ROOT2: Final = 2.0**0.5


@dataclass(frozen=True, slots=True)
class UnlikelyPair:
    """A contender that loses to the favourite, or comes last in games with it, more often than the
    skills say.
    """

    thrower: int
    meetings: int
    """Meetings without a fault or a tie."""
    lost: int
    expected: float
    """Expected number of losses."""
    last: int
    """Games with the favourite in which it came last, behind at least two others."""
    expected_last: float
    """Expected number of these; 0 if it came last fewer than two times."""
    chance: float
    """Twice the smaller probability: of so many losses, or of so many last places. In games of two
    seats, the probability of the losses.
    """


@dataclass(frozen=True, slots=True)
class SuspectFavourite:
    """A contender with several opponents whose results against it are unlikely."""

    favourite: int
    pairs: tuple[UnlikelyPair, ...]
    """The least likely first."""
    chance: float
    """Expected number of favourites as suspect as this one in a season without throwers."""


def find_throwers(
    games: GameTable,
    pairs: MetPairs,
    skills: tuple[Floats, Floats],
    considered: NDArray[np.bool_],
    kappa: float,
    alarm: float = ALARM,
) -> list[SuspectFavourite]:
    """Returns the suspect favourites, the least likely first.

    ``pairs`` are all that met in ``games``. ``skills`` are the contenders' means and deviations in
    beta. Only ``considered`` contenders are named. ``kappa`` is the deviation of a pair's own
    advantage. ``alarm`` is the expected number of favourites in a season without throwers.
    """
    met = _meetings(pairs, considered)
    if not len(met):
        return []
    opponents = np.bincount(met.winner, minlength=len(considered))
    chance = _loss_chances(met, skills, kappa)
    watched = _most_suspicious(met, chance, opponents)
    chance = _either_chance(games, met, watched, chance, (skills, kappa))
    out = np.flatnonzero(likelier_throwers(chance < FIRST_LOOK, chance))
    without = met.take(out)
    skills = _skills_without(without, skills)
    again = _loss_chances(without, skills, kappa)
    chance[out] = _either_chance(games, without, watched, again, (skills, kappa))
    unlikely = np.flatnonzero(chance < UNLIKELY)
    found = []
    for favourite in np.unique(met.winner[unlikely]).tolist():
        own = chance[unlikely[met.winner[unlikely] == favourite]]
        many = poisson_tail(len(own), UNLIKELY * opponents[favourite])
        one = float(own.min()) * float(opponents[favourite])
        expected_alarms = 2.0 * int(considered.sum()) * min(many, one)
        if expected_alarms < alarm:
            named = pairs_to_name(np.flatnonzero(met.winner == favourite), chance)
            suspects = _name_pairs(games, met.take(named), chance[named], skills)
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


@dataclass(frozen=True, slots=True)
class _Meetings:
    """Each pair that met more than once, with either as the loser: arrays of [pairs]."""

    loser: Indices
    """A possible thrower."""
    winner: Indices
    """A possible favourite."""
    lost: Floats
    played: Floats
    """Meetings without a fault or a tie."""

    def __len__(self) -> int:
        return len(self.loser)

    def take(self, rows: Indices) -> _Meetings:
        """Returns these pairs."""
        return _Meetings(self.loser[rows], self.winner[rows], self.lost[rows], self.played[rows])


def _meetings(pairs: MetPairs, considered: NDArray[np.bool_]) -> _Meetings:
    """Returns the meetings of the considered contenders."""
    low, high = pairs.low[pairs.often], pairs.high[pairs.often]
    known = considered[low] & considered[high]
    low, high, outcomes = low[known], high[known], pairs.outcomes[:, known]
    return _Meetings(
        np.concatenate([low, high]),
        np.concatenate([high, low]),
        np.concatenate([outcomes[HIGH], outcomes[LOW]]),
        np.tile(outcomes[LOW] + outcomes[HIGH], 2),
    )


def _most_suspicious(met: _Meetings, chance: Floats, opponents: Indices) -> NDArray[np.bool_]:
    """Returns which contenders are watched: those with most pairs below ``MILD``."""
    mild = np.bincount(met.winner[chance < MILD], minlength=len(opponents))
    usual = MILD * opponents
    above = np.where(opponents > 0, (mild - usual) / np.sqrt(np.maximum(usual, 1.0)), -np.inf)
    watched = np.zeros(len(opponents), np.bool_)
    watched[np.argsort(-above, kind="stable")[:WATCHED]] = True
    return watched


def likelier_throwers(unlikely: NDArray[np.bool_], chance: Floats) -> NDArray[np.bool_]:
    """Returns which pairs are unlikely, each only with the likelier thrower as the loser.

    Both arrays hold each pair twice: the second half has the other contender as the loser.
    """
    one, other = unlikely.reshape(2, -1)
    more = chance.reshape(2, -1)[0] <= chance.reshape(2, -1)[1]
    return np.concatenate([one & (more | ~other), other & ~(one & more)])


def _either_chance(
    games: GameTable,
    met: _Meetings,
    watched: NDArray[np.bool_],
    lost: Floats,
    skills_and_kappa: tuple[tuple[Floats, Floats], float],
) -> Floats:
    """Returns twice the smaller probability: of so many losses, or of so many last places.

    ``lost`` is that of the losses. Last places count for pairs with a ``watched`` favourite. The
    factor is 2 because there are two ways to be unlikely.
    """
    if games.seats < LEAST_SEATS:
        return lost
    rows = np.flatnonzero(watched[met.winner])
    pairs = met.take(rows)
    last = count_last_places(games, pairs.loser, pairs.winner, *skills_and_kappa)
    either = lost.copy()
    either[rows] = np.minimum(either[rows], last.chance)
    return np.minimum(2.0 * either, 1.0)


def _name_pairs(
    games: GameTable, met: _Meetings, chance: Floats, skills: tuple[Floats, Floats]
) -> tuple[UnlikelyPair, ...]:
    expected = met.played * normal_cdf((skills[0][met.winner] - skills[0][met.loser]) / ROOT2)
    last = count_last_places(games, met.loser, met.winner, skills, 0.0)
    columns = (met.loser, met.played, met.lost, expected, last.last, last.expected, chance)
    return tuple(
        UnlikelyPair(thrower, int(played), int(lost), mean, int(often), usual, likely)
        for thrower, played, lost, mean, often, usual, likely in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )


def _loss_chances(met: _Meetings, skills: tuple[Floats, Floats], kappa: float) -> Floats:
    """Returns the probability of at least so many losses, over the uncertainty of both skills."""
    mu, sigma = skills
    gap = mu[met.winner] - mu[met.loser]
    unsure = np.sqrt(sigma[met.winner] ** 2 + sigma[met.loser] ** 2 + kappa**2)
    chances = np.ones(len(met))
    p = normal_cdf(gap / np.sqrt(2.0 + unsure**2))
    likely = met.lost - met.played * p
    rows = np.flatnonzero(likely > np.sqrt(met.played * p * (1.0 - p)))
    points = (gap[rows, None] + unsure[rows, None] * NODES) / ROOT2
    at = np.asarray(normal_cdf(points), np.float64)
    chances[rows] = binomial_tails(met.lost[rows], met.played[rows], at) @ SHARES
    return chances


def _skills_without(met: _Meetings, skills: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Returns the skills as if these pairs had not met, by one step of Newton's method."""
    mu, sigma = skills
    t = (mu[met.winner] - mu[met.loser]) / ROOT2
    up, up_weight = win_moments(t)
    down, down_weight = win_moments(-t)
    won = met.played - met.lost
    force = (met.lost * up - won * down) / ROOT2
    weight = (met.lost * up_weight + won * down_weight) / 2.0
    count = len(mu)
    pushed = sum_by_contender(met.winner, force, count) - sum_by_contender(met.loser, force, count)
    told = sum_by_contender(met.winner, weight, count) + sum_by_contender(met.loser, weight, count)
    before = sigma**-2.0
    left = np.maximum(before - told, 0.2 * before)
    return mu - pushed / left, left**-0.5
