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


class EncounterCounts:
    """Counts of games that two entries played together; entries have numbers.

    Copies of one bundle share a number and so are one contender. A log only grows: ``plus`` counts
    the new games without counting the others again.
    """

    def __init__(self, numbers: Mapping[EntryId, int] | None = None, games: ArrayLike = ()) -> None:
        """Counts ``games``: numbers by game and seat, -1 for an empty seat."""
        self.numbers: Mapping[EntryId, int] = numbers or {}
        """The number of each entry."""
        table = np.asarray(games, np.int64)
        self._layers: tuple[_SparseTable, ...] = (_count_games(table),) if table.size else ()

    def plus(self, numbers: Mapping[EntryId, int], games: ArrayLike) -> EncounterCounts:
        """Adds more games; ``numbers`` may have grown too."""
        more = EncounterCounts(numbers, games)
        layers = [*self._layers, *more._layers]
        while len(layers) > 1 and len(layers[-2].others) < STEP * len(layers[-1].others):
            layers[-2:] = [_merge_tables(layers[-2], layers[-1])]
        more._layers = tuple(layers)
        return more

    def between(self, lead: int, others: Indices) -> Counts:
        """Returns the games of number ``lead`` with each of these numbers; -1 is unknown."""
        found: Counts = np.zeros(len(others), np.int32)
        for layer in self._layers:
            if not 0 <= lead < len(layer.starts) - 1:
                continue
            row = slice(layer.starts[lead], layer.starts[lead + 1])
            held = layer.others[row]
            if len(held):
                at = held.searchsorted(others)
                met = held.take(at, mode="clip") == others
                found += met * layer.counts[row].take(at, mode="clip")
        return found

    def __bool__(self) -> bool:
        return len(self._layers) > 0


@dataclass(frozen=True, slots=True)
class _SparseTable:
    """A sparse symmetric table: opponents of each number, and counts."""

    starts: NDArray[np.int64]
    others: Indices  # narrower integers would be converted at every lookup
    counts: Counts


def _count_games(games: NDArray[np.int64]) -> _SparseTable:
    keys = [
        games[:, a][both] << 32 | games[:, b][both]
        for a in range(games.shape[1])
        for b in range(games.shape[1])
        if a != b
        for both in [(games[:, a] >= 0) & (games[:, b] >= 0)]
    ]
    pairs, counts = np.unique(np.concatenate(keys), return_counts=True)
    return _table_from_pairs(pairs, counts)


def _merge_tables(one: _SparseTable, two: _SparseTable) -> _SparseTable:
    pairs = np.concatenate((_pair_keys(one), _pair_keys(two)))
    order = np.argsort(pairs, kind="stable")  # two sorted runs, which this sort merges
    pairs = pairs[order]
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.concatenate((one.counts, two.counts))[order]
    return _table_from_pairs(pairs[first], np.add.reduceat(counts, first))


def _table_from_pairs(pairs: NDArray[np.int64], counts: NDArray[np.generic]) -> _SparseTable:
    size = int(pairs[-1] >> 32) + 1 if len(pairs) else 0
    starts = np.searchsorted(pairs >> 32, np.arange(size + 1))
    return _SparseTable(starts, (pairs & 0xFFFFFFFF).astype(np.intp), counts.astype(np.int32))


def _pair_keys(layer: _SparseTable) -> NDArray[np.int64]:
    rows = np.repeat(np.arange(len(layer.starts) - 1), np.diff(layer.starts))
    return rows << 32 | layer.others
