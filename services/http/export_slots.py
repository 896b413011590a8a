"""Limits the exports that one process makes at a time."""

from __future__ import annotations

import threading
from typing import Final

from ladder.ids import UserId
from services.http.problems import ProblemError

MOST_EXPORTS: Final = 2


class ExportSlots:
    """Limits the exports in progress: one for each person and two in each process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: set[UserId] = set()

    def take(self, user_id: UserId) -> None:
        """Counts a reader. Raises ProblemError, 429 or 503."""
        with self._lock:
            if user_id in self._readers:
                raise ProblemError(
                    "limit-reached",
                    "Wait until your other export ends.",
                    headers={"Retry-After": "10"},
                    limit="exports of a person at a time",
                    used=1,
                    allowed=1,
                    left=0,
                )
            if len(self._readers) >= MOST_EXPORTS:
                raise ProblemError("unavailable", "Try again shortly: others export their data.")
            self._readers.add(user_id)

    def give_back(self, user_id: UserId) -> None:
        with self._lock:
            self._readers.discard(user_id)
