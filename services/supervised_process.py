"""The processes that `peck up` starts and restarts, and the settings that each gets."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from services.child_processes import Child


@dataclass
class SupervisedProcess:
    """A child that is restarted when it dies."""

    name: str
    start: Callable[[], Child]
    grace_seconds: float = 10.0
    child: Child | None = None
    started_at: float = 0.0
    pause_seconds: float = 0.5
    again_at: float = 0.0

    def begin(self) -> Child:
        self.child = self.start()
        self.started_at = time.monotonic()
        return self.child


SETTINGS_OF_PROCESS: Final = {
    "api": (
        "database_url",
        "redis_url",
        "blobs_url",
        "run_dir",
        "base_url",
        "session_secret",
        "games",
        "sign_up",
        "password_memory_mib",
        "password_passes",
        "password_hashes",
    ),
    "scheduler": ("database_url", "redis_url", "blobs_url", "run_dir"),
    "worker": (
        "worker_database_url",
        "redis_url",
        "blobs_url",
        "run_dir",
        "node_socket",
        "remote_socket",
        "max_parallel_seats",
        "queues",
        "speed_class",
        "games",
    ),
    "rater": ("database_url", "redis_url"),
}
"""The settings of each part alone: workers never see the more powerful database role."""
