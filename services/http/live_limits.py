"""Limits on open streams of running matches, so that one viewer leaves room for the others."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from services.http.problems import ProblemError

MOST_PER_PERSON: Final = 6
ADDRESS_SHARE: Final = 5
"""People without a session at one address, such as a classroom, get this part of all streams."""
AGAIN_SECONDS: Final = 30


class WatcherLimits:
    """The open streams of this process, by viewer. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most, self._most_per_address = most, max(1, most // ADDRESS_SHARE)
        self._lock = threading.Lock()
        self._open: Counter[str] = Counter()
        self._count = 0

    def refuse_more(self, viewer: str, *, is_person: bool) -> None:
        """Raises ProblemError if the process, or this person or address, has too many streams."""
        with self._lock:
            if self._has_room(viewer, is_person=is_person):
                return
        raise ProblemError(
            "unavailable",
            "Ask without 'Accept: text/event-stream' every two seconds: all streams are in use.",
            headers={"Retry-After": str(AGAIN_SECONDS)},
        )

    @contextmanager
    def counted(self, viewer: str, *, is_person: bool) -> Iterator[bool]:
        """Counts one stream of this viewer inside the block. Yields False if there are too many:
        many requests at once all pass ``refuse_more`` before the first of them counts."""
        with self._lock:
            has_room = self._has_room(viewer, is_person=is_person)
            if has_room:
                self._open[viewer] += 1
                self._count += 1
        try:
            yield has_room
        finally:
            if has_room:
                self._forget(viewer)

    def _has_room(self, viewer: str, *, is_person: bool) -> bool:
        most = MOST_PER_PERSON if is_person else self._most_per_address
        return self._count < self._most and self._open[viewer] < most

    def _forget(self, viewer: str) -> None:
        with self._lock:
            self._count -= 1
            self._open[viewer] -= 1
            if not self._open[viewer]:
                del self._open[viewer]
