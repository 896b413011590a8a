"""Writes exact fractions as decimal numbers."""

from __future__ import annotations

from fractions import Fraction


def decimal_text(value: Fraction, places: int = 6) -> str:
    """Returns the number with at most this many decimal places."""
    return f"{float(value):.{places}f}".rstrip("0").rstrip(".")


def texts_apart(one: Fraction, two: Fraction) -> tuple[str, str]:
    """Returns both numbers with 2 to 12 decimal places, as few as make the texts differ."""
    places = next((n for n in range(2, 12) if decimal_text(one, n) != decimal_text(two, n)), 12)
    return decimal_text(one, places), decimal_text(two, places)
