"""Names the runtime profiles, and which of them need a GPU.

The sandbox defines their contents (``sandbox/profiles.py``); a test compares both lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, get_args

Name = Literal["python", "numpy", "science", "torch", "torch-gpu"]
NAMES: Final[tuple[str, ...]] = get_args(Name)
ON_GPU: Final = frozenset({"torch-gpu"})
"""Profiles whose seats need a share of the match's GPU or slice."""
REMOTE: Final = "remote"
"""Profile of remote agents, whatever their machines have. Nobody can choose it."""


def needs_gpu(profiles: Iterable[str]) -> bool:
    """Returns whether a match with seats of these profiles needs a GPU."""
    return not ON_GPU.isdisjoint(profiles)
