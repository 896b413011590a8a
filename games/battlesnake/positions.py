"""A position of Battlesnake, with the eliminations so far."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from games.battlesnake.rules import Rules
from games.protocol import Verdict

Body = tuple[int, ...]


class Cause(StrEnum):
    """Why a snake is out, in the terms of the official rules."""

    OUT_OF_HEALTH = "out-of-health"
    """The snake starved."""
    HAZARD = "hazard"
    """The snake lost its last health to a hazard."""
    WALL = "wall-collision"
    """The snake's head left the board."""
    SELF = "snake-self-collision"
    """The snake's head entered its own body."""
    BODY = "snake-collision"
    """The snake's head entered another snake's body."""
    HEAD = "head-collision"
    """The snake met the head of a snake that was not shorter."""


class Names(NamedTuple):
    """Ids of a match and its snakes, new for each match."""

    game: str
    snakes: tuple[str, ...]


class State(NamedTuple):
    """A position. Tuples are indexed by seat, but ``alive`` lists the seats still playing."""

    rules: Rules
    names: Names
    turn: int
    bodies: tuple[Body, ...]
    """Cells of each snake, head first. A dead snake keeps its last cells."""
    health: tuple[int, ...]
    alive: tuple[int, ...]
    causes: tuple[Cause | None, ...]
    eliminated_on: tuple[int | None, ...]
    food: tuple[int, ...]
    hazards: tuple[int, ...]
    """Cells of the hazards. Stacked hazards appear once for each layer."""
    calm: tuple[int, int, int, int]
    """The rectangle that no shrink has reached: left, right, bottom, top, all included."""
    last_moves: tuple[str, ...]
    faults: tuple[Verdict | None, ...]
    """The last fault of a seat that has never given a valid answer."""
    answered: tuple[bool, ...]
    """Whether a seat has ever given a valid answer."""

    @property
    def over(self) -> bool:
        """Whether no opponent is left, no snake is left, or the last turn came."""
        needed = 1 if self.rules.solo or len(self.bodies) == 1 else 2
        return len(self.alive) < needed or self.turn >= self.rules.max_turns
