"""Turns of rated matches in their queue: a maker's next one is behind its last, and nobody's goes
before what has waited longer than its share.

Turns are start tags of fair queueing. A maker's next one is the least turn that still waits, or one
more than its last, whichever is more; so turns only grow, and a match that waits is passed by at
most as many of each other maker as its turn lies ahead. A new leader begins where the queue is.

Pure.
"""

from __future__ import annotations

from typing import Final

LAST: Final = 2**31 - 1
"""The column has no more; from there on who came first goes first."""


class FairTurns:
    """The next turn of each maker of leagues."""

    def __init__(self) -> None:
        self._front = 0
        self._next: dict[str, int] = {}

    def look(self, front: int | None) -> None:
        """Takes in the least turn that waits; where none does, all makers begin anew."""
        if front is None:
            self._front, self._next = 0, {}
        else:
            self._front = max(self._front, front)

    def take(self, maker: str) -> int:
        """The turn of this maker's next match."""
        turn = max(self._front, self._next.get(maker, 0))
        self._next[maker] = turn + 1
        return min(turn, LAST)
