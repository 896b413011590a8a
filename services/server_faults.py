"""Faults of Redis and of the blob store. Nothing is lost meanwhile, but an operator must act."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ladder.database.blobs import Blobs, BlobsUnavailable
from ladder.database.db import Connection
from ladder.telemetry import log_event
from workers.redis_clients import why_redis_takes_no_messages


class Part(StrEnum):
    """A server that can have a fault."""

    REDIS = "redis"
    """Carries wake-up messages and running matches."""
    BLOBS = "blobs"
    """Holds bundles, replays and logs."""


REMEMBERED_SECONDS: Final = 3.0
TEXTS: Final = {
    Part.REDIS: "Redis is away or refuses writes. Workers ask Postgres for matches every few"
    " seconds, and nobody can watch running matches.",
    Part.BLOBS: "The blob store does not answer, or its disk is full. Uploads are refused and no"
    " match begins until it has room.",
}
"""What a fault means, for everybody."""


@dataclass(frozen=True, slots=True)
class ServerFault:
    """A fault of one server now."""

    part: Part
    reason: str
    """For operators: it may name addresses and folders."""

    @property
    def text(self) -> str:
        """What it means, for everybody."""
        return TEXTS[self.part]


def find_faults(redis_url: str, blobs: Blobs) -> list[ServerFault]:
    """Asks both servers. Takes a second if Redis does not answer."""
    faults = []
    reason = why_redis_takes_no_messages(redis_url) if redis_url else None
    if reason is not None:
        faults.append(ServerFault(Part.REDIS, reason))
    try:
        blobs.require_room()
    except BlobsUnavailable as error:
        faults.append(ServerFault(Part.BLOBS, str(error)))
    return faults


class RememberedFaults:
    """The faults that this process found within the last REMEMBERED_SECONDS. Thread-safe."""

    def __init__(self, redis_url: str, blobs: Blobs) -> None:
        self._redis_url, self._blobs = redis_url, blobs
        self._lock = threading.Lock()
        self._found: list[ServerFault] | None = None
        self._found_at = 0.0

    def find(self) -> list[ServerFault]:
        """One thread asks the servers at a time. The others get the last answer meanwhile."""
        faults = self._found
        if self._lock.acquire(blocking=faults is None):
            try:
                if self._found is None or time.monotonic() > self._found_at + REMEMBERED_SECONDS:
                    self._found = find_faults(self._redis_url, self._blobs)
                    self._found_at = time.monotonic()
                faults = self._found
            finally:
                self._lock.release()
        assert faults is not None
        return faults


class FaultLog:
    """Logs each fault once, and its end."""

    def __init__(self, redis_url: str, blobs: Blobs) -> None:
        self._redis_url, self._blobs = redis_url, blobs
        self._logged_parts: set[Part] = set()

    def log_changes(self, conn: Connection) -> dict[str, int]:
        """Returns no counts."""
        faults = {fault.part: fault for fault in find_faults(self._redis_url, self._blobs)}
        for part, fault in faults.items():
            if part not in self._logged_parts:
                log_event("server_fault", level="warning", part=part, reason=fault.reason)
        for part in self._logged_parts - faults.keys():
            log_event("server_fault_cleared", part=part)
        self._logged_parts = set(faults)
        return {}
