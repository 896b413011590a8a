"""Counts how often contenders have met. Pure; its size grows with the number of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ladder.ids import EntryId

Indices = NDArray[np.intp]
Counts = NDArray[np.int32]

STEP: Final = 8  # each layer has at least this many times the pairs of the next
UNKNOWN: Final = 0x7FFFFFFF
"""Stands in ``between`` for an entry without a number: larger than all, so it met nobody."""


class EncounterCounts:
    """Counts of games that two entries played together; entries have numbers.

    Copies of one bundle share a number and so are one contender. A log only grows: ``plus`` counts
    the new games without counting the others again.
    """

    def __init__(
        self,
        numbers: Mapping[EntryId, int] | None = None,
        games: ArrayLike = (),
        times: int = 1,
    ) -> None:
        """Counts each of ``games`` ``times`` times: numbers by game and seat, -1 for an empty
        seat."""
        self.numbers: Mapping[EntryId, int] = numbers or {}
        """The number of each entry."""
        table = np.asarray(games, np.int64)
        self._set_layers((_count_games(table, times),) if table.size else ())

    def plus(
        self, numbers: Mapping[EntryId, int], games: ArrayLike, times: int = 1
    ) -> EncounterCounts:
        """Adds more games, each as often as given; ``numbers`` may have grown too."""
        more = EncounterCounts(numbers, games, times)
        layers = [*self._layers, *more._layers]
        while len(layers) > 1 and len(layers[-2].counts) < STEP * len(layers[-1].counts):
            layers[-2:] = [_merge_tables(layers[-2], layers[-1])]
        more._set_layers(tuple(layers))
        return more

    def between(self, lead: int, others: Indices) -> Counts:
        """Returns the games of number ``lead`` with each of these numbers.

        Numbers without games have met nobody. For an unknown entry give UNKNOWN, not -1.
        """
        found: Counts = self.between_rows(np.array([lead]), others[None])[0]
        return found

    def between_rows(self, leads: Indices, others: Indices) -> Counts:
        """Returns ``between`` of each lead with its row of others: [leads, others]."""
        found: Counts = np.empty(others.shape, np.int32)
        spans = [layer.spans(leads) for layer in self._layers]
        for row in range(len(leads)):
            met = np.zeros(self._size + 1, np.int32)  # the last element is for UNKNOWN
            is_first = True
            for layer, (starts, ends) in zip(self._layers, spans, strict=True):
                first, end = starts[row], ends[row]
                if first == end:  # in a small layer most numbers have no pair
                    continue
                if is_first:  # faster than adding to zeros
                    met[layer.opponents[first:end]] = layer.counts[first:end]
                else:
                    met[layer.opponents[first:end]] += layer.counts[first:end]
                is_first = False
            met.take(others[row], mode="clip", out=found[row])
        return found

    def __bool__(self) -> bool:
        return len(self._layers) > 0

    def _set_layers(self, layers: tuple[_SparseTable, ...]) -> None:
        self._layers = layers
        self._size = max((len(layer.starts) - 1 for layer in layers), default=0)
        """One more than the highest number that has a game."""


@dataclass(frozen=True, slots=True)
class _SparseTable:
    """Counts of games by pair of numbers. Each pair appears in both directions."""

    starts: NDArray[np.int64]
    """Where the opponents of each number start, and the end."""
    opponents: Indices
    """Ascending for each number: [pairs]."""
    counts: Counts

    def spans(self, numbers: Indices) -> tuple[list[int], list[int]]:
        """Returns where the opponents of each of these numbers start, and where they end."""
        ends = self.starts.take(numbers + 1, mode="clip")
        return self.starts.take(numbers, mode="clip").tolist(), ends.tolist()

    def pairs(self) -> NDArray[np.int64]:
        """Returns ``number << 32 | opponent`` of each pair, ascending."""
        numbers = np.arange(len(self.starts) - 1, dtype=np.int64)
        return np.repeat(numbers << 32, np.diff(self.starts)) | self.opponents


def _count_games(games: NDArray[np.int64], times: int) -> _SparseTable:
    one, other = np.nonzero(~np.eye(games.shape[1], dtype=np.bool_))
    keys = games[:, one] << 32 | games[:, other]  # negative if a seat of the pair is empty
    pairs, counts = np.unique(keys[keys >= 0], return_counts=True)
    return _table_from_pairs(pairs, counts * times)


def _merge_tables(one: _SparseTable, two: _SparseTable) -> _SparseTable:
    pairs = np.concatenate((one.pairs(), two.pairs()))
    order = np.argsort(pairs, kind="stable")  # two sorted runs, which this sort merges
    pairs = pairs[order]
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.concatenate((one.counts, two.counts))[order]
    return _table_from_pairs(pairs[first], np.add.reduceat(counts, first))


def _table_from_pairs(pairs: NDArray[np.int64], counts: NDArray[np.generic]) -> _SparseTable:
    ends = np.bincount(pairs >> 32).cumsum()
    opponents = (pairs & 0xFFFFFFFF).astype(np.intp, copy=False)
    return _SparseTable(np.concatenate(([0], ends)), opponents, counts.astype(np.int32, copy=False))
