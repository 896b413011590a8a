"""Limits on open streams and exports, so that one person leaves room for the others."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ladder.ids import UserId
from services.http.problems import ProblemError

MOST_PER_PERSON: Final = 6
"""Most streams of running matches that one person has open at a process."""
ADDRESS_SHARE: Final = 5
"""People without a session at one address, such as a classroom, get this part of all streams."""
AGAIN_SECONDS: Final = 30
"""Seconds after which a reader may ask again if all streams are taken."""


class WatcherLimits:
    """The open streams of running matches at this process, by viewer. Thread-safe."""

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


LONGEST_SECONDS: Final = 600.0
"""Longest duration of a stream. Its reader then reconnects."""
MOST_STREAMS_PER_USER: Final = 4
"""Most open streams of one person at a process."""
MOST_STREAMS: Final = 100
"""Most open streams of all people at a process."""


class StreamLimits:
    """The open event streams of this process, by person. Thread-safe."""

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
