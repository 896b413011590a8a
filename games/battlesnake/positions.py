"""A position of Battlesnake, and the end of the snakes in it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from games.battlesnake.board import Rules
from games.protocol import Verdict

Body = tuple[int, ...]


class Cause(StrEnum):
    """Why a snake is out, in the words of the official rules."""

    OUT_OF_HEALTH = "out-of-health"
    """Starved."""
    HAZARD = "hazard"
    """Lost its last health to a hazard."""
    WALL = "wall-collision"
    """Its head left the board."""
    SELF = "snake-self-collision"
    """Its head entered its own body."""
    BODY = "snake-collision"
    """Its head entered another one's body."""
    HEAD = "head-collision"
    """It met the head of one that was not shorter."""


class Names(NamedTuple):
    """What a match and its snakes are called by; drawn anew for each."""

    game: str
    snakes: tuple[str, ...]


class State(NamedTuple):
    """A position. Tuples are indexed by seat, but ``alive`` lists the seats still playing."""

    rules: Rules
    names: Names
    turn: int
    bodies: tuple[Body, ...]
    """Head first; of a dead snake as it died."""
    health: tuple[int, ...]
    alive: tuple[int, ...]
    causes: tuple[Cause | None, ...]
    eliminated_on: tuple[int | None, ...]
    food: tuple[int, ...]
    hazards: tuple[int, ...]
    """Stacked hazards stand here as often as they are stacked."""
    calm: tuple[int, int, int, int]
    """What no shrink has reached: left, right, bottom, top, all included."""
    last_moves: tuple[str, ...]
    faults: tuple[Verdict | None, ...]
    """The last fault of a seat that never gave a good answer."""
    answered: tuple[bool, ...]
    """Whether a seat ever gave a good answer."""

    @property
    def over(self) -> bool:
        """Nobody is left to beat, or nobody at all, or the last turn came."""
        needed = 1 if self.rules.solo or len(self.bodies) == 1 else 2
        return len(self.alive) < needed or self.turn >= self.rules.max_turns
