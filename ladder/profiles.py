"""What the contest knows of runtime profiles: their names, and which need a GPU for each seat.

What lies behind a name is the sandbox's (``sandbox/profiles.py``); a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, get_args

Name = Literal["python", "numpy", "science", "torch", "torch-gpu"]
NAMES: Final[tuple[str, ...]] = get_args(Name)
ON_GPU: Final = frozenset({"torch-gpu"})
"""Each seat of these has one whole GPU, or slice of one, to itself."""
REMOTE: Final = "remote"
"""Not a profile to choose: that of an agent at an address of its owner's, whatever it has there."""


def gpus_needed(profiles: Iterable[str]) -> int:
    """How many GPUs a lineup needs; ``profiles`` by seat."""
    return sum(profile in ON_GPU for profile in profiles)
