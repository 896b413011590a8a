"""Assigns the seats of a lineup, so that each contender plays each seat equally often."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random


def assign_seats(had: Sequence[Sequence[int]], rng: Random) -> list[int]:
    """Returns a permutation: which contender (index in ``had``) takes seat 0, 1, ...

    ``had`` holds each contender's games by seat. A random order is improved by swaps, as long as a
    swap makes the counts more even in total.
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
