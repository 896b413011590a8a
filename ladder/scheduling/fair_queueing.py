"""Assigns turns of rated matches in their queue, so that league makers share it fairly. Pure.

Turns are start tags of fair queueing. A maker's next turn is the larger of two numbers: the least
waiting turn, and its own last turn plus one. So turns only grow. Suppose that a match's turn is n
above the least waiting turn. Then at most n new matches of each other maker overtake it. A
scheduler that becomes leader starts at the queue's least turn.
"""

from __future__ import annotations

from typing import Final

LAST: Final = 2**31 - 1
"""Highest value of the column; from there on, matches run in order of arrival."""


class FairTurns:
    """Next turn of each league maker."""

    def __init__(self) -> None:
        self._front = 0
        self._next: dict[str, int] = {}

    def set_least_turn(self, front: int | None) -> None:
        """Sets the least waiting turn; an empty queue resets all makers."""
        if front is None:
            self._front, self._next = 0, {}
        else:
            self._front = max(self._front, front)

    def next_turn(self, maker: str) -> int:
        """Returns the turn of this maker's next match."""
        turn = max(self._front, self._next.get(maker, 0))
        self._next[maker] = turn + 1
        return min(turn, LAST)
