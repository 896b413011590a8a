"""Seats of a lineup, so that each contender's seat numbers even out."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random


def assign_seats(had: Sequence[Sequence[int]], rng: Random) -> list[int]:
    """A permutation: who (place in ``had``) takes seat 0, 1, ...

    ``had`` holds the games of each by seat. It starts from chance and swaps while that makes
    anybody's counts more even than it makes another's uneven.
    """
    order = list(range(len(had)))
    rng.shuffle(order)
    swapped = any(map(any, had))
    while swapped:
        swapped = False
        for a in range(len(order)):
            for b in range(a):
                one, two = had[order[a]], had[order[b]]
                if one[b] + two[a] < one[a] + two[b]:
                    order[a], order[b] = order[b], order[a]
                    swapped = True
    return order
