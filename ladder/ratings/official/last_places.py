"""Compares how often contenders come last in games with a favourite, and how often they should.

Who throws a game often comes last. For a strong contender that is less likely than a loss to the
favourite alone, so fewer games show it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ratings.official.event_counts import NODES, SHARES, binomial_tails
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.message_passing import sum_by_contender
from ladder.ratings.official.truncated_gaussian import normal_cdf

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAST_SEATS: Final = 3
"""Seats of a game from which a last place says more than a loss to the favourite."""
LEAST_TIMES: Final = 2
"""Last places from which a pair is considered."""
LUCK, LUCK_SHARES = np.polynomial.hermite_e.hermegauss(9)
"""Gauss-Hermite points of a performance's luck, and their weights."""


@dataclass(frozen=True)
class LastPlaces:
    """Last places of each pair's first contender in games with the second: arrays of [pairs]."""

    last: Floats
    """Number of games in which it came last, without a tie and behind at least two others."""
    expected: Floats
    """Expected number; 0 for a pair with fewer than ``LEAST_TIMES``."""
    chance: Floats
    """Probability of at least as many; 1 for a pair with fewer than ``LEAST_TIMES``."""


def count_last_places(
    games: GameTable,
    who: Indices,
    favourite: Indices,
    skills: tuple[Floats, Floats],
    kappa: float,
) -> LastPlaces:
    """Returns the last places of ``who`` in games with ``favourite``: both [pairs].

    ``skills`` are means and deviations of all contenders in beta; NaN: not considered. ``kappa`` is
    the deviation of a pair's own advantage. Games are left out if either has a fault.
    """
    count = len(who)
    found = LastPlaces(np.zeros(count), np.zeros(count), np.ones(count))
    if games.seats < LEAST_SEATS or not count:
        return found
    mu, sigma = skills
    row, seat, pair, present = _find_games(games, who, favourite, mu)
    ranks = np.where(present, games.ranks[row], 0)
    others_best = ranks.copy()
    others_best[np.arange(len(row)), seat] = 0
    is_last = ranks[np.arange(len(row)), seat] > others_best.max(axis=1, initial=0)
    found.last[:] = sum_by_contender(pair, is_last.astype(np.float64), count)
    chosen = found.last[pair] >= LEAST_TIMES
    row, seat, pair, present = row[chosen], seat[chosen], pair[chosen], present[chosen]
    played = sum_by_contender(pair, np.ones(len(pair)), count)
    seen = np.flatnonzero(played)
    unsure = np.sqrt(sigma[who] ** 2 + sigma[favourite] ** 2 + kappa**2)
    skill = mu[who][pair][:, None] + unsure[pair][:, None] * NODES
    present[np.arange(len(row)), seat] = False
    at = _chance_of_last(games.contenders[row], present, skill, skills)
    mean = np.stack([sum_by_contender(pair, each, count) for each in at.T], axis=1)[seen]
    mean /= played[seen, None]
    found.expected[seen] = played[seen] * (mean @ SHARES)
    found.chance[seen] = binomial_tails(found.last[seen], played[seen], mean) @ SHARES
    return found


def _find_games(
    games: GameTable, who: Indices, favourite: Indices, mu: Floats
) -> tuple[Indices, Indices, Indices, NDArray[np.bool_]]:
    """Returns each game of each pair: its row, the seat of ``who``, the pair, and who is present.

    A seat is present if its contender is considered and has no fault: [games found, seats].
    """
    n = len(mu)
    is_favourite = np.zeros(n, np.bool_)
    is_favourite[favourite] = True
    there = games.contenders >= 0
    rows = np.flatnonzero((is_favourite[games.contenders] & there).any(axis=1))
    in_seat = games.contenders[rows].astype(np.intp)
    present = there[rows] & ~games.faults[rows] & ~np.isnan(mu[in_seat])
    enough = np.count_nonzero(present, axis=1) >= LEAST_SEATS
    rows, in_seat, present = rows[enough], in_seat[enough], present[enough]
    keys = favourite * n + who
    order = np.argsort(keys)
    keys = keys[order]
    found: list[tuple[Indices, Indices, Indices]] = []
    for first in range(games.seats):
        for second in range(games.seats):
            if first == second:
                continue
            both = np.flatnonzero(
                present[:, first] & present[:, second] & is_favourite[in_seat[:, first]]
            )
            key = in_seat[both, first] * n + in_seat[both, second]
            at = np.minimum(keys.searchsorted(key), len(keys) - 1)
            same = keys[at] == key
            at, both = at[same], both[same]
            found.append((both, np.full(len(both), second), order[at]))
    row, seat, pair = (np.concatenate(column) for column in zip(*found, strict=True))
    return rows[row], seat, pair, present[row]


def _chance_of_last(
    contenders: NDArray[np.int32],
    others: NDArray[np.bool_],
    skill: Floats,
    skills: tuple[Floats, Floats],
) -> Floats:
    """Returns the probability that a performance is behind all others: [games, points].

    ``skill`` holds the skills of the contender in question: [games, points]. ``others`` are its
    present opponents: [games, seats].
    """
    mu, sigma = skills
    total = np.zeros(skill.shape)
    for luck, share in zip(LUCK.tolist(), (LUCK_SHARES / LUCK_SHARES.sum()).tolist(), strict=True):
        behind = np.full(skill.shape, share)
        for seat in range(contenders.shape[1]):
            rows = np.flatnonzero(others[:, seat])
            rival = contenders[rows, seat]
            ahead = mu[rival][:, None] - skill[rows] - luck
            behind[rows] *= normal_cdf(ahead / np.sqrt(1.0 + sigma[rival] ** 2)[:, None])
        total += behind
    return total
