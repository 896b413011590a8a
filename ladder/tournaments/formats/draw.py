"""Draws everything that chance decides from one seed, which is committed before and revealed after.

Each draw has a label. A draw sorts its items by SHA-256 of seed, label and item, so that anybody
can repeat it without this program.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence


def new_seed() -> bytes:
    """Draws 32 bytes from the system's generator."""
    return secrets.token_bytes(32)


def commitment(seed: bytes) -> str:
    """Returns the SHA-256 digest of the seed as hex, to publish before the draw."""
    return hashlib.sha256(seed).hexdigest()


def draw_order(seed: bytes, label: str, items: Sequence[str]) -> list[str]:
    """Returns the items in a drawn order, which does not depend on the order given."""
    return sorted(items, key=lambda item: (draw_bytes(seed, f"{label}/{item}"), item))


def draw_bytes(seed: bytes, label: str) -> bytes:
    """Returns 32 bytes for this label."""
    return hashlib.sha256(seed + b"/" + label.encode()).digest()


def draw_number(seed: bytes, label: str, below: int) -> int:
    """Returns a number from 0 to below ``below``; the bias is under 2^-200."""
    return int.from_bytes(draw_bytes(seed, label)) % below


def game_seed(seed: bytes, label: str) -> bytes:
    """Returns the 16 bytes of a game's seed."""
    return draw_bytes(seed, f"game/{label}")[:16]
