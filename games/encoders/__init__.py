"""Recorded episodes as arrays to learn from: what a seat saw, and what it did.

A sample is one move of one seat, its planes as the seat itself sees the board: its own things
first, the others in the order of seats after it. A module a game; a game without one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from games.encoders import battlesnake, golad, hungry_geese, snake
from games.encoders.samples import Encoder, Sample
from games.protocol import GameError

ENCODERS: Final[Mapping[str, Encoder]] = {
    module.ENCODER.game: module.ENCODER for module in (battlesnake, hungry_geese, golad, snake)
}


def encoder_of(game: str) -> Encoder:
    """The encoder of this game. Raises GameError naming those there are."""
    try:
        return ENCODERS[game]
    except KeyError:
        known = ", ".join(sorted(ENCODERS))
        raise GameError(f"game: {game!r} cannot be encoded; those that can are {known}") from None


__all__ = ["ENCODERS", "Encoder", "Sample", "encoder_of"]
