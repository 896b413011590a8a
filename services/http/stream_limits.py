"""Limits on open event streams, so that nobody takes more than a fair part of a process."""

from __future__ import annotations

import threading
import time
from typing import Final

from ladder.ids import UserId
from services.http.problems import ProblemError

LONGEST_SECONDS: Final = 600.0
"""Longest duration of a stream. Its reader then reconnects."""
MOST_STREAMS_PER_USER: Final = 4
"""Most open streams of one person at a process."""
MOST_STREAMS: Final = 100
"""Most open streams of all people at a process."""
AGAIN_SECONDS: Final = 30
"""Seconds after which a reader may ask again if all streams are taken."""


class StreamLimits:
    """The open streams of this process, by person. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[tuple[UserId, float]] = []

    def register_stream(self, user_id: UserId) -> float:
        """Counts one more stream and returns when it must end, by the monotonic clock. A stream
        that never leaves stops counting at that time. Raises ProblemError if there are too many."""
        now = time.monotonic()
        with self._lock:
            self._open = [each for each in self._open if each[1] > now]
            if sum(user == user_id for user, _ in self._open) >= MOST_STREAMS_PER_USER:
                raise ProblemError(
                    "limit-reached",
                    f"Close a stream: you have {MOST_STREAMS_PER_USER} open, the most allowed.",
                )
            if len(self._open) >= MOST_STREAMS:
                raise ProblemError(
                    "unavailable",
                    f"Try again in {AGAIN_SECONDS} seconds, or read GET /v1/me/feed, which has "
                    f"the same items. All {MOST_STREAMS} event streams are in use.",
                    headers={"Retry-After": str(AGAIN_SECONDS)},
                )
            self._open.append((user_id, now + LONGEST_SECONDS))
        return now + LONGEST_SECONDS

    def unregister_stream(self, user_id: UserId, until: float) -> None:
        """Stops counting this stream."""
        with self._lock:
            if (user_id, until) in self._open:
                self._open.remove((user_id, until))
