"""Checks what a worker asks for when it borrows boxes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.errors import BundleRefused, HostFault
from sandbox.listener import MOST_SEATS
from sandbox.node.bundle_digests import DigestCache, digest_and_size
from sandbox.node.pooled_box import BoxKey

MEMORY_MB = (64, 65_536)
"""Least and most memory of a box."""


@dataclass(frozen=True)
class RequestedSeat:
    """One checked seat of a request."""

    key: BoxKey
    digest: str
    """SHA-256 of the bundle."""
    size: int
    """Bytes of the bundle."""
    bundle: int
    """File descriptor of the bundle."""
    deadline: float
    """Until when its box must be ready, in seconds of the monotonic clock."""


class RequestChecker:
    """Checks the requests of workers against the profiles that the node serves."""

    def __init__(self, image_digests: Mapping[str, str]) -> None:
        """``image_digests``: digest by profile. The node may add profiles to it later."""
        self._image_digests = image_digests
        self._digests = DigestCache()

    def check(
        self, message: dict[str, Any], bundles: list[int]
    ) -> list[RequestedSeat | BundleRefused]:
        """The seats of a request, with a refusal in place of a bundle that is too large.

        Raises HostFault if the request breaks a rule.
        """
        seats = message.get("seats")
        if not isinstance(seats, list) or not 1 <= len(seats) <= MOST_SEATS:
            raise HostFault(f"seats: must be a list of 1 to {MOST_SEATS}")
        if len(bundles) != len(seats):
            raise HostFault(f"{len(bundles)} descriptors of bundles came for {len(seats)} seats")
        seconds = message.get("timeout_seconds")
        if type(seconds) not in (int, float) or not 0 < seconds <= 600:  # type: ignore[operator]
            raise HostFault(f"timeout_seconds: {seconds!r} is not between 0 and 600")
        deadline = time.monotonic() + float(seconds)  # type: ignore[arg-type]
        return [
            self._checked_seat(seat, bundle, deadline)
            for seat, bundle in zip(seats, bundles, strict=True)
        ]

    def _checked_seat(
        self, seat: object, bundle: int, deadline: float
    ) -> RequestedSeat | BundleRefused:
        if not isinstance(seat, dict):
            raise HostFault("seats: each must be an object")
        profile, memory_mb = seat.get("profile"), seat.get("memory_mb")
        if not isinstance(profile, str) or profile not in self._image_digests:
            offered = ", ".join(sorted(self._image_digests))
            raise HostFault(f"profile: {profile!r} is not served here; served are {offered}")
        low, high = MEMORY_MB
        if type(memory_mb) is not int or not low <= memory_mb <= high:
            raise HostFault(f"memory_mb: {memory_mb!r} is not a number from {low} to {high}")
        try:
            digest, size = self._digests.of(bundle)
            if size > memory_mb << 19:  # half of the box's memory, which holds it after unpacking
                raise BundleRefused(f"the archive is larger than half of {memory_mb} MB of memory")
        except BundleRefused as refused:
            return refused
        return RequestedSeat(BoxKey(profile, memory_mb), digest, size, bundle, deadline)


def check_unchanged(seat: RequestedSeat) -> None:
    """Raise HostFault if the bundle changed since its digest was made."""
    if digest_and_size(seat.bundle) != (seat.digest, seat.size):
        raise HostFault("the bundle changed while it was read")
