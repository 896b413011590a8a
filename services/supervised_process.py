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


EGRESS_SETTINGS: Final = ("egress_allow", "egress_deny", "egress_ports")
SMTP_SETTINGS: Final = (
    "smtp_host",
    "smtp_port",
    "smtp_security",
    "smtp_user",
    "smtp_password",
    "smtp_from",
    "smtp_timeout_seconds",
)
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
        "sign_up_domains",
        "identity_providers",
        "password_memory_mib",
        "password_passes",
        "password_hashes",
        "live_streams",
        "live_streams_per_address",
        "machine_database_url",
        "machine_redis_url",
        "machine_blobs_endpoint",
        "machine_certificates",
        *EGRESS_SETTINGS,
        *SMTP_SETTINGS,
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
    "rater": ("database_url", "redis_url", "blobs_url", "games"),
    "notifier": (
        "notifier_database_url",
        "redis_url",
        "base_url",
        "notice_slots",
        *EGRESS_SETTINGS,
        *SMTP_SETTINGS,
    ),
    "pictures": ("database_url", "redis_url", "blobs_url", "games"),
}
"""The settings of each part alone: workers never see the more powerful database role."""
