"""The text of a number of bytes."""

from __future__ import annotations


def size_text(value: int) -> str:
    """The size in the largest fitting unit: ``100 MB``, ``1.5 MB``, ``12 kB``."""
    if value < 1024:
        return f"{value} B"
    if value < 1024 * 1024:
        return f"{value / 1024:.0f} kB"
    return f"{value / 1024 / 1024:.1f}".removesuffix(".0") + " MB"
