"""Encodes recorded episodes as arrays for training: what a seat saw and what it did.

A sample is one move of one seat. Its planes show the board as the seat sees it: its own things
first, then the others in the order of seats after it. Each game has its own module.
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
    """The encoder of this game. Raises GameError naming the games that have one."""
    try:
        return ENCODERS[game]
    except KeyError:
        known = ", ".join(sorted(ENCODERS))
        raise GameError(f"game: {game!r} has no encoder; games with one: {known}") from None


__all__ = ["ENCODERS", "Encoder", "Sample", "encoder_of"]
