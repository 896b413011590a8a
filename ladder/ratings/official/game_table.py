"""Holds the games of a season for the fit: contenders, placements, faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class GameTable:
    """Games in the order of the log, one row each, one column a seat.

    Seats without a fault are rated against each other as if the others were empty. A seat with a
    fault is last, behind all others, for its own rating only. Two faults do not rate each other. If
    every seat is at fault, no rating changes.
    """

    contenders: NDArray[np.int32]
    """Contenders' numbers from 0, each at most once in a game; -1: an empty seat."""
    ranks: NDArray[np.int16]
    """1 is best, equal numbers tie; values in empty seats are ignored."""
    faults: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if not (
            self.contenders.ndim == 2
            and self.contenders.shape == self.ranks.shape == self.faults.shape
        ):
            raise ValueError(
                "contenders, ranks and faults need one row a game and one column a seat"
            )

    def __len__(self) -> int:
        return int(self.contenders.shape[0])

    @property
    def seats(self) -> int:
        """Number of columns."""
        return int(self.contenders.shape[1])

    @classmethod
    def empty(cls, seats: int = 2) -> GameTable:
        """Returns a table without games."""
        shape = (0, seats)
        return cls(np.zeros(shape, np.int32), np.zeros(shape, np.int16), np.zeros(shape, np.bool_))

    def continues(self, other: GameTable) -> bool:
        """Whether the table begins with all of the other's games, unchanged."""
        n = len(other)
        return n <= len(self) and all(
            np.array_equal(mine[:n], theirs)
            for mine, theirs in (
                (self.contenders, other.contenders),
                (self.ranks, other.ranks),
                (self.faults, other.faults),
            )
        )

    def take(self, rows: NDArray[np.intp] | slice) -> GameTable:
        """Returns these games."""
        return GameTable(self.contenders[rows], self.ranks[rows], self.faults[rows])

    def with_faults_as_losses(self) -> GameTable:
        """Returns the table with each fault of one seat of two as a plain loss.

        Otherwise an agent that fails in games that it is losing would be rated by its other games,
        which it wins, and then lowered too far by many faults.
        """
        alone = np.count_nonzero(self.faults, axis=1) == 1
        lost = self.faults & (alone & (self.contenders >= 0).all(axis=1))[:, None]
        if self.seats != 2 or not lost.any():
            return self
        winner = np.where(lost, 0, self.ranks).max(axis=1, keepdims=True)
        ranks = np.where(lost, winner + 1, self.ranks).astype(np.int16)
        return GameTable(self.contenders, ranks, self.faults & ~lost)

    def without(self, out: NDArray[np.bool_]) -> GameTable:
        """Returns the games with empty seats for these contenders, as if they had never played."""
        gone = (self.contenders >= 0) & out[self.contenders]
        return GameTable(
            np.where(gone, np.int32(-1), self.contenders),
            self.ranks,
            self.faults & ~gone,
        )


class GrowingGameTable:
    """A table to which games are appended without copying the earlier ones each time."""

    def __init__(self) -> None:
        self.table = GameTable.empty()
        """All games so far. A table that was read before stays as it was."""
        self._room = self.table

    def append(self, more: GameTable) -> None:
        """Appends games; the table gets the larger number of seats."""
        first, last = len(self.table), len(self.table) + len(more)
        seats = max(self.table.seats, more.seats)
        if last > len(self._room) or seats > self.table.seats:
            self._room = _with_room(self.table, max(last, 3 * first // 2), seats)
        for column, new in zip(_columns(self._room), _columns(more), strict=True):
            column[first:last, : more.seats] = new
        self.table = self._room.take(slice(0, last))


def _columns(games: GameTable) -> tuple[NDArray[Any], ...]:
    return games.contenders, games.ranks, games.faults


def _with_room(games: GameTable, rows: int, seats: int) -> GameTable:
    """Returns the table with more rows and seats, which are empty."""
    shape = (rows, seats)
    bigger = GameTable(
        np.full(shape, -1, np.int32), np.zeros(shape, np.int16), np.zeros(shape, np.bool_)
    )
    for column, old in zip(_columns(bigger), _columns(games), strict=True):
        column[: len(games), : games.seats] = old
    return bigger
