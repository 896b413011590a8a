"""What the fit sees of a season: who sat in which game, where they came in, whose fault it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class GameTable:
    """Games in the order of the log, one row each, one column a seat.

    A seat with a fault lost by it: the seats without one are rated among themselves as if the
    others had been empty, and each seat with one is last, behind all without, for its own rating
    only. Two faults do not rate each other; where every seat is at fault nobody moves.
    """

    contenders: NDArray[np.int32]
    """Numbers from 0 of those who sat there, none of them twice in a game; -1: an empty seat."""
    ranks: NDArray[np.int16]
    """1 is best, equal numbers tie; anything in an empty seat."""
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
        """Seats of the largest game there is room for."""
        return int(self.contenders.shape[1])

    @classmethod
    def none(cls, seats: int = 2) -> GameTable:
        """A log without games."""
        shape = (0, seats)
        return cls(np.zeros(shape, np.int32), np.zeros(shape, np.int16), np.zeros(shape, np.bool_))

    def continues(self, other: GameTable) -> bool:
        """Whether it begins with all of the other's games, unchanged."""
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
        """These games alone."""
        return GameTable(self.contenders[rows], self.ranks[rows], self.faults[rows])

    def without(self, out: NDArray[np.bool_]) -> GameTable:
        """The same games with the seats of those contenders empty, as if they had never played."""
        gone = (self.contenders >= 0) & out[self.contenders]
        return GameTable(
            np.where(gone, np.int32(-1), self.contenders),
            self.ranks,
            self.faults & ~gone,
        )
