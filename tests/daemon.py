"""What all tests with node daemons share: their libraries, and a way to find the daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Final

LIBRARIES: Final = Path(__file__).resolve().parents[1] / ".state" / "test-node"
"""The folder in which the first node installs the libraries of boxes, for all nodes of the tests.

It is a node's ``--state-dir``.
"""


def daemon_of(guard: int) -> int:
    """The pid of the only child of this node's guard."""
    (child,) = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
    return int(child)
