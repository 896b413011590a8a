"""Finds a node's daemon behind its guard, for tests that kill the daemon."""

from __future__ import annotations

from pathlib import Path


def daemon_of(guard: int) -> int:
    """The pid of the only child of this node's guard."""
    (child,) = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
    return int(child)
