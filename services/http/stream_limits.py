"""How many event streams are open, so that nobody can hold more of a process than their part."""

from __future__ import annotations

import threading
import time
from typing import Final

from ladder.ids import UserId
from services.http.problems import ProblemError

LONGEST_SECONDS: Final = 600.0
"""A stream ends then, and its reader comes back."""
MOST_STREAMS_PER_USER: Final = 4
"""Streams that one person may have open at a process."""
MOST_STREAMS: Final = 100
"""Streams of everybody."""
AGAIN_SECONDS: Final = 30
"""After which who finds all of them taken may ask again."""


class StreamLimits:
    """Those open at this process, by person. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[tuple[UserId, float]] = []

    def enter(self, user_id: UserId) -> float:
        """Counts one more and returns when it must end, by the monotonic clock; one that was never
        left counts no longer than that. Raises ProblemError when there are too many."""
        now = time.monotonic()
        with self._lock:
            self._open = [each for each in self._open if each[1] > now]
            if sum(user == user_id for user, _ in self._open) >= MOST_STREAMS_PER_USER:
                raise ProblemError(
                    "limit-reached", f"You have {MOST_STREAMS_PER_USER} streams open: close one."
                )
            if len(self._open) >= MOST_STREAMS:
                raise ProblemError(
                    "unavailable",
                    f"{MOST_STREAMS} event streams are open here, as many as there may be:"
                    " try again in "
                    f"{AGAIN_SECONDS} seconds, or read GET /v1/me/feed, which tells the same.",
                    headers={"Retry-After": str(AGAIN_SECONDS)},
                )
            self._open.append((user_id, now + LONGEST_SECONDS))
        return now + LONGEST_SECONDS

    def leave(self, user_id: UserId, until: float) -> None:
        """Counts this one no more."""
        with self._lock:
            if (user_id, until) in self._open:
                self._open.remove((user_id, until))
