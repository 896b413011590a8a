"""Chooses the entry that represents each team, so that more uploads bring no better rank. Pure.

The best of many equal entries is a lucky one. So a team does not stand by its best entry: it stands
by its newest one that has played ``LEAST_GAMES``. An older entry takes its place only if it is
better with the probability ``SURE``. The team may also declare an entry.

Without an entry of ``LEAST_GAMES``, the one with the most games represents the team.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ids import EntryId, TeamId

LEAST_GAMES: Final = 10
"""Games after which a new entry may represent its team."""
SURE: Final = 0.95
"""Probability of being better from which an older entry precedes the newest."""
MARGIN: Final = NormalDist().inv_cdf(SURE)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Entrant:
    """An active entry for the standing."""

    entry_id: EntryId
    team_id: TeamId
    contender: int
    """Number in the fit; -1 before its first game."""
    parent: int
    """Number of the replaced entry, if this one has not played; -1: none."""
    is_anchor: bool
    is_declared: bool = False
    """Whether its team declared it."""
    bundle: str = ""
    """Digest and profile of its bundle; empty: a bundle of its own."""
    games: int = 0
    """Games of its bundle in the fit."""
    shared_place: str = ""
    """Id of the place that its team shares with others; empty: a place of its own."""


def choose_representatives(
    entrants: Sequence[Entrant], mu: Floats, sigma: Floats
) -> NDArray[np.intp]:
    """Returns the places of the entrants that represent teams, one each.

    ``entrants`` are in order of their entry ids, oldest first. ``mu`` and ``sigma`` are theirs.
    """
    teams: dict[TeamId, list[int]] = defaultdict(list)
    for n, each in enumerate(entrants):
        if not each.is_anchor and each.contender >= 0:
            teams[each.team_id].append(n)
    for own in teams.values():  # equal bytes that enter again are as old as their first game
        own.sort(key=lambda n: entrants[n].contender)
    chosen = [_choose_representative(entrants, own, mu, sigma) for own in teams.values()]
    return np.array(sorted(chosen), np.intp)


def _choose_representative(
    entrants: Sequence[Entrant], own: Sequence[int], mu: Floats, sigma: Floats
) -> int:
    known = [n for n in own if entrants[n].games >= LEAST_GAMES]
    declared = [n for n in known or own if entrants[n].is_declared]
    if declared:
        return declared[0]
    if not known:
        return max(own, key=lambda n: (entrants[n].games, n))
    newest = known[-1]
    better = [
        n for n in known if mu[n] - mu[newest] > MARGIN * float(np.hypot(sigma[n], sigma[newest]))
    ]
    return max(better, key=lambda n: float(mu[n]), default=newest)
