"""Draws the pairs of a comparison, and scores their games.

Seat and opponents are drawn at random for each pair. So all pairs have the same mean difference,
which the confidence sequence needs: fixed turns would let it depend on the number of the pair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class PairPlan:
    """How both games of a pair are played."""

    number: int
    """Number in the comparison, from 1."""
    seed: bytes
    seat: int
    """Seat of the old version in one game and of the new version in the other."""
    opponents: tuple[int, ...]
    """Index of the opponent in each other seat, in order."""

    def lineup(self, version: int) -> tuple[int, ...]:
        """Returns the index in each seat, with this version in its seat."""
        return (*self.opponents[: self.seat], version, *self.opponents[self.seat :])


def plan_pair(seed: bytes, number: int, seats: int, opponents: int) -> PairPlan:
    """Draws a pair for ``seats`` seats. The same arguments give the same pair.

    ``seed`` is the comparison's. Each opponent sits at most once, if there are enough of them.
    """
    digest = hashlib.sha256(seed + b"pair%d" % number).digest()
    chance = Random(digest[16:])  # noqa: S311 (both games use the same draw; nothing is secret)
    seat = chance.randrange(seats)
    drawn: list[int] = []
    while len(drawn) < seats - 1:
        drawn += chance.sample(range(opponents), min(opponents, seats - 1 - len(drawn)))
    return PairPlan(number, digest[:16], seat, tuple(drawn))


def share_beaten(placements: Sequence[int], seat: int) -> float:
    """Returns the share of the opponents that this seat beat; a shared place counts half."""
    own = placements[seat]
    others = [place for other, place in enumerate(placements) if other != seat]
    return sum((place > own) + (place == own) / 2 for place in others) / len(others)
