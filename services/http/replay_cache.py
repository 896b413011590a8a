"""Episodes ready to send: each made once from its replay, packed, and kept in memory.

A replay never changes, but what players are sent of it is recomputed by the rules: half a second of
work for a board of 100 x 100, a few kilobytes once it is packed. So whoever comes second, and
whoever comes meanwhile, gets what the first one had made.
"""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Callable, Hashable
from typing import Final

from cachetools import LRUCache

MOST_BYTES: Final = 32 << 20
"""Packed, in one process."""
LEVEL: Final = 5


class ReplayCache:
    """Packed documents of this process, least recently used ones dropped. Safe for threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._kept: LRUCache[Hashable, bytes] = LRUCache(most_bytes, len)

    def packed(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """The document of this key, gzipped. One is made at a time: it takes a core either way, and
        who waits for the same one has it then. What ``make`` raises travels on."""
        found = self._find(key)
        if found is None:
            with self._making:
                found = self._find(key)
                if found is None:
                    found = gzip.compress(make(), compresslevel=LEVEL, mtime=0)
                    with self._lock, contextlib.suppress(ValueError):  # larger than all: not kept
                        self._kept[key] = found
        return found

    def _find(self, key: Hashable) -> bytes | None:
        with self._lock:
            return self._kept.get(key)
