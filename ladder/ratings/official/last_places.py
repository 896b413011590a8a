"""Compares how often contenders come last in games with a favourite with how often they should.

A contender that throws a game often comes last. For a strong one that is less likely than a loss to
the favourite alone, so fewer games show it. Some honest contenders often come last although they
are strong. So the expected number is higher for those that come last too often in other games.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.message_passing import sum_by_contender
from ladder.ratings.official.truncated_gaussian import normal_cdf

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAST_SEATS: Final = 3
"""Seats of a game from which a last place says more than a loss to the favourite."""
LEAST_TIMES: Final = 2
"""Last places from which a pair is considered."""
NODES: Final = np.array([0.0, -1.3556262, 1.3556262, -2.8569700, 2.8569700])
SHARES: Final = np.array([0.5333333, 0.2220759, 0.2220759, 0.0112574, 0.0112574])
"""Gauss-Hermite points of a standard normal distribution."""
LUCK, LUCK_SHARES = np.polynomial.hermite_e.hermegauss(9)
"""Gauss-Hermite points of a performance's luck, and their weights."""


@dataclass(frozen=True)
class LastPlaces:
    """Last places of each pair's first contender in games with the second: arrays of [pairs]."""

    last: Floats
    """Number of games in which it came last, without a tie, behind at least two others."""
    expected: Floats
    """Expected number; 0 for a pair with fewer last places than ``LEAST_TIMES``."""
    games: Floats
    """Games with at least two others; 0 for a pair with fewer last places than ``LEAST_TIMES``."""
    at: Floats
    """Probability of a last place in one of them, at each node of the gap: [pairs, nodes]."""


def count_last_places(
    games: GameTable,
    who: Indices,
    favourite: Indices,
    skills: tuple[Floats, Floats],
    kappa: float,
) -> LastPlaces:
    """Returns the last places of ``who`` in games with ``favourite``: both [pairs].

    ``skills`` are means and deviations of all contenders in beta. ``kappa`` is the deviation of a
    pair's own advantage. Games in which either has a fault are left out.
    """
    count, (mu, sigma) = len(who), skills
    none = np.zeros((3, count))
    found = LastPlaces(none[0], none[1], none[2], np.zeros((count, len(NODES))))
    if games.seats < LEAST_SEATS or not count:
        return found
    met = _find_games(games, who, favourite, len(mu))
    found.last[:] = sum_by_contender(met.group, met.is_last(games), count)
    met = met.take(found.last[met.group] >= LEAST_TIMES)
    found.games[:] = sum_by_contender(met.group, np.ones(len(met.group)), count)
    seen = np.flatnonzero(found.games)
    unsure = np.sqrt(sigma[who] ** 2 + sigma[favourite] ** 2 + kappa**2)
    points = mu[who][:, None] + unsure[:, None] * NODES
    at = _chance_of_last(games, met, points[met.group], skills)
    mean = np.stack([sum_by_contender(met.group, each, count) for each in at.T], axis=1)
    found.at[seen] = mean[seen] / found.games[seen, None]
    last, expected = _all_last_places(games, np.unique(who[seen]), skills)
    other_last = last[who[seen]] - found.last[seen]
    other_expected = expected[who[seen]] - found.games[seen] * (found.at[seen] @ SHARES)
    excess = (other_last + 1.0) / (np.maximum(other_expected, 0.0) + 1.0)
    found.at[seen] = np.minimum(found.at[seen] * np.maximum(excess, 1.0)[:, None], 1.0)
    found.expected[seen] = found.games[seen] * (found.at[seen] @ SHARES)
    return found


@dataclass(frozen=True, slots=True)
class _Seatings:
    """Seats of contenders in question, grouped: arrays of [seatings]."""

    row: Indices
    """Row of the game in the log."""
    seat: Indices
    group: Indices
    present: NDArray[np.bool_]
    """Which seats of the game hold a contender without a fault: [seatings, seats]."""

    def take(self, chosen: NDArray[np.bool_]) -> _Seatings:
        """Returns these seatings."""
        return _Seatings(
            self.row[chosen], self.seat[chosen], self.group[chosen], self.present[chosen]
        )

    def others(self) -> NDArray[np.bool_]:
        """Returns the present opponents: [seatings, seats]."""
        others = self.present.copy()
        others[np.arange(len(self.row)), self.seat] = False
        return others

    def is_last(self, games: GameTable) -> Floats:
        """Returns 1 for each seat that came last without a tie, 0 for others."""
        ranks = games.ranks[self.row]
        own = ranks[np.arange(len(self.row)), self.seat]
        worst = np.where(self.others(), ranks, 0).max(axis=1, initial=0)
        return np.asarray(own > worst, np.float64)


def _find_games(games: GameTable, who: Indices, favourite: Indices, n: int) -> _Seatings:
    """Returns each game of each pair, grouped by pair."""
    is_favourite = np.zeros(n, np.bool_)
    is_favourite[favourite] = True
    rows, in_seat, present = _games_with(games, is_favourite)
    keys = favourite * n + who
    order = np.argsort(keys)
    keys = keys[order]
    found: list[tuple[Indices, Indices, Indices]] = []
    for first, second in itertools.permutations(range(games.seats), 2):
        both = np.flatnonzero(
            present[:, first] & present[:, second] & is_favourite[in_seat[:, first]]
        )
        key = in_seat[both, first] * n + in_seat[both, second]
        at = np.minimum(keys.searchsorted(key), len(keys) - 1)
        same = keys[at] == key
        found.append((both[same], np.full(np.count_nonzero(same), second), order[at[same]]))
    row, seat, pair = (np.concatenate(column) for column in zip(*found, strict=True))
    return _Seatings(rows[row], seat, pair, present[row])


def _all_last_places(
    games: GameTable, contenders: Indices, skills: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Returns how often these came last in all their games, and how often they should: [n]."""
    n = len(skills[0])
    chosen = np.zeros(n, np.bool_)
    chosen[contenders] = True
    rows, in_seat, present = _games_with(games, chosen)
    row, seat = np.nonzero(present & chosen[in_seat])
    own = in_seat[row, seat]
    seatings = _Seatings(rows[row], seat, own, present[row])
    expected = _chance_of_last(games, seatings, skills[0][own][:, None], skills)[:, 0]
    last = sum_by_contender(own, seatings.is_last(games), n)
    return last, sum_by_contender(own, expected, n)


def _games_with(
    games: GameTable, chosen: NDArray[np.bool_]
) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Returns the games of enough seats with any of the chosen contenders.

    These are the rows in the log, the contenders by seat, and which seats hold one without a fault.
    """
    there = (games.contenders >= 0) & ~games.faults
    rows = np.flatnonzero((chosen[games.contenders] & there).any(axis=1))
    rows = rows[np.count_nonzero(there[rows], axis=1) >= LEAST_SEATS]
    return rows, games.contenders[rows].astype(np.intp), there[rows]


def _chance_of_last(
    games: GameTable, seatings: _Seatings, skill: Floats, skills: tuple[Floats, Floats]
) -> Floats:
    """Returns the probability that each performance is behind all others: [seatings, points].

    ``skill`` holds the skills of the contenders in question: [seatings, points].
    """
    mu, sigma = skills
    others, contenders = seatings.others(), games.contenders[seatings.row]
    total = np.zeros(skill.shape)
    for luck, share in zip(LUCK.tolist(), (LUCK_SHARES / LUCK_SHARES.sum()).tolist(), strict=True):
        behind = np.full(skill.shape, share)
        for seat in range(games.seats):
            rows = np.flatnonzero(others[:, seat])
            rival = contenders[rows, seat]
            ahead = mu[rival][:, None] - skill[rows] - luck
            behind[rows] *= normal_cdf(ahead / np.sqrt(1.0 + sigma[rival] ** 2)[:, None])
        total += behind
    return total
