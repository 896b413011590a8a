"""Waits while the blob store does not answer, so that an outage costs no match.

A call of a running match is repeated for WAIT_SECONDS; its lease is renewed meanwhile. After an
outage that lasted longer, this process claims no match until the store answers again. It also
claims none while the store's disk is full, because it could not keep the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from ladder.database.blobs import BlobsUnavailable, MatchBlobs
from ladder.errors import LadderError
from ladder.telemetry import log_event
from workers.liveness import record_answer

WAIT_SECONDS: Final = 120.0
PAUSE_SECONDS: Final = 1.0
NO_BLOB: Final = "0" * 64
T = TypeVar("T")


class StorageWaits:
    """Whether the blob store failed this process last, and calls that outlast an outage."""

    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._failed = False

    def retry(self, call: Callable[[], T]) -> T:
        """Returns what the call returns. Repeats it while it raises BlobsUnavailable, and raises
        that after WAIT_SECONDS. The call must be safe to repeat, as all calls of Blobs are."""
        deadline = time.monotonic() + self._wait_seconds
        while True:
            try:
                answer = call()
            except BlobsUnavailable as error:
                if not self._failed:
                    log_event("storage_away", level="warning", error=str(error))
                self._failed = True
                if time.monotonic() > deadline:
                    raise
                record_answer()  # waiting for the store is no stall
                time.sleep(PAUSE_SECONDS)
            else:
                self._failed = False
                return answer

    def answers(self, blobs: MatchBlobs) -> bool:
        """Whether the store answers and has room. Asks for an answer only if it failed before."""
        try:
            if self._failed:
                blobs.exists(NO_BLOB)
            blobs.require_room()
        except (BlobsUnavailable, LadderError) as error:  # a site or its proxy may also refuse
            if not self._failed:
                log_event("storage_away", level="warning", error=str(error))
            self._failed = True
            return False
        self._failed = False
        return True
