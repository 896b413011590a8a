"""One box of the node's pool, and what the pool knows of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.launchers.base import Box
from sandbox.launchers.gpu import Gpu

MOST_MATCHES = 200
MOST_AGE_SECONDS = 3600.0


class BoxKey(NamedTuple):
    """The kind of a box. Unbound boxes of one kind are interchangeable."""

    profile: str
    memory_mb: int
    gpu: Gpu | None = None
    """The seat's share of the GPU that its match has."""


@dataclass(eq=False)
class PooledBox:
    """One box with the pool's notes on it."""

    box: Box
    key: BoxKey
    digest: str | None = None
    unpacked_bytes: int = 0
    """Memory that its bundle occupies for the box's life."""
    takes_one_match: bool = False
    matches: int = 0
    started_at: float = field(default_factory=time.monotonic)
    used_at: float = field(default_factory=time.monotonic)
    exceeded_gpu_mb: int = 0
    """Its share of a GPU's memory in MB, if its agent used more. Else 0."""
    is_leaving: bool = False
    """Set when its last match ends. It then pre-forks no child and is not kept."""

    @property
    def has_served_long_enough(self) -> bool:
        """Whether it is discarded after its present match."""
        if self.takes_one_match:
            return True
        age_seconds = time.monotonic() - self.started_at
        return self.matches + 1 >= MOST_MATCHES or age_seconds > MOST_AGE_SECONDS
