"""Episodes ready to send: each is made once from its replay, gzipped and kept in memory.

The rules compute an episode from its replay. For a board of 100 x 100 that takes half a second; the
result has a few kilobytes. So one request computes the episode, and later or waiting requests get
its result.
"""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Callable, Hashable
from typing import Final

from cachetools import LRUCache

MOST_BYTES: Final = 32 << 20
"""Most bytes of gzipped documents in one process."""
LEVEL: Final = 5


class ReplayCache:
    """Gzipped documents of this process. Drops the least recently used. Thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._kept: LRUCache[Hashable, bytes] = LRUCache(most_bytes, len)

    def get_or_compress(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """The document of this key, gzipped. Makes one document at a time, because each takes a
        core. Threads that wait for the same key share the result. Passes on what ``make``
        raises."""
        found = self._find(key)
        if found is None:
            with self._making:
                found = self._find(key)
                if found is None:
                    found = gzip.compress(make(), compresslevel=LEVEL, mtime=0)
                    with (
                        self._lock,
                        contextlib.suppress(ValueError),
                    ):  # larger than the cache: not stored
                        self._kept[key] = found
        return found

    def _find(self, key: Hashable) -> bytes | None:
        with self._lock:
            return self._kept.get(key)
