"""Derives the seeds of an episode: one for the game's draws and one for each seat."""

from __future__ import annotations

import hashlib
import hmac
from random import Random
from typing import Final

SEED_BYTES: Final = 16


def game_random(seed: bytes) -> Random:
    """The generator for the game's draws. Seats' seeds reveal nothing about it."""
    return Random(int.from_bytes(_derive_seed(seed, b"game"), "big"))  # noqa: S311 (a game's dice)


def seat_seed(seed: bytes, seat: int) -> bytes:
    """The 16 bytes that seed a seat's own generators."""
    return _derive_seed(seed, b"seat" + str(seat).encode())[:SEED_BYTES]


def _derive_seed(seed: bytes, purpose: bytes) -> bytes:
    return hmac.new(seed, purpose, hashlib.sha256).digest()
