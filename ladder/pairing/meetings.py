"""How often contenders have met. Pure; as large as the number of different pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ladder.ids import EntryId

Counts = NDArray[np.int32]


class Meetings:
    """Games that two entries had together, an entry known by its number among ``entries``.

    Entries of equal number (copies of one bundle) are one contender.
    """

    def __init__(
        self,
        number: Mapping[EntryId, int] | None = None,
        games: NDArray[np.integer] | None = None,
    ) -> None:
        """Counts ``games``: numbers by game and seat, -1 for an empty seat."""
        self._number = number or {}
        self._size = max(self._number.values(), default=-1) + 1
        self._starts = np.zeros(self._size + 1, np.int64)
        self._others: Counts = np.zeros(0, np.int32)
        self._counts: Counts = np.zeros(0, np.int32)
        if games is not None:
            self._count(games)

    def numbers(self, entries: Sequence[EntryId]) -> NDArray[np.intp]:
        """Their numbers; one past the last for an entry that is not known."""
        get, unknown = self._number.get, self._size
        return np.array([get(entry, unknown) for entry in entries], np.intp)

    def between(self, lead: int, others: NDArray[np.intp]) -> Counts:
        """Games that number ``lead`` had with each of these numbers."""
        row = np.zeros(self._size + 1, np.int32)
        if lead < self._size:
            held = slice(self._starts[lead], self._starts[lead + 1])
            row[self._others[held]] = self._counts[held]
        found: Counts = row[others]
        return found

    def __bool__(self) -> bool:
        return len(self._others) > 0

    def _count(self, games: NDArray[np.integer]) -> None:
        seats = games.shape[1]
        keys = [
            games[both, a].astype(np.int64) * self._size + games[both, b]
            for a in range(seats)
            for b in range(seats)
            if a != b
            for both in [(games[:, a] >= 0) & (games[:, b] >= 0)]
        ]
        pairs, counts = np.unique(np.concatenate(keys), return_counts=True)
        self._others = (pairs % self._size).astype(np.int32)
        self._counts = counts.astype(np.int32)
        self._starts = np.searchsorted(pairs // self._size, np.arange(self._size + 1))
