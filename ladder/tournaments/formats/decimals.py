"""Reads decimal numbers as exact fractions and writes fractions as decimal numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

FINEST: Final = 1_000_000
"""Largest denominator. So sums of 0.1 or of a third are exact, and equal ones equal."""


def exact(value: float) -> Fraction:
    """Returns the nearest fraction with a denominator of at most FINEST."""
    return Fraction(value).limit_denominator(FINEST)


def decimal_text(value: Fraction, places: int = 6) -> str:
    """Returns the number with at most this many decimal places."""
    return f"{float(value):.{places}f}".rstrip("0").rstrip(".")


def texts_apart(one: Fraction, two: Fraction) -> tuple[str, str]:
    """Returns both numbers with 2 to 12 decimal places, as few as make the texts differ."""
    places = next((n for n in range(2, 12) if decimal_text(one, n) != decimal_text(two, n)), 12)
    return decimal_text(one, places), decimal_text(two, places)
