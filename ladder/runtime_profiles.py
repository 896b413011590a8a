"""Names the runtime profiles, and which of them need a GPU for each seat.

The sandbox defines their contents (``sandbox/profiles.py``); a test compares both lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, get_args

Name = Literal["python", "numpy", "science", "torch", "torch-gpu"]
NAMES: Final[tuple[str, ...]] = get_args(Name)
ON_GPU: Final = frozenset({"torch-gpu"})
"""Profiles whose seats each need a GPU, a slice or a share of one."""
REMOTE: Final = "remote"
"""Profile of remote agents, whatever their machines have. Nobody can choose it."""


def gpus_needed(profiles: Iterable[str]) -> int:
    """Returns how many GPUs a lineup needs; ``profiles`` by seat."""
    return sum(profile in ON_GPU for profile in profiles)
