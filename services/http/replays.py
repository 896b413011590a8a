"""Episodes ready to send: each made once from its replay, packed, and kept in memory.

A replay never changes, but what players are sent of it is recomputed by the rules: half a second of
work for a board of 100 x 100, a few kilobytes once it is packed. So whoever comes second, and
whoever comes meanwhile, gets what the first one had made.
"""

from __future__ import annotations

import gzip
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

MOST_BYTES: Final = 32 << 20
"""Packed, in one process."""
LEVEL: Final = 5


class Replays:
    """Packed documents of this process, least recently used ones dropped. Safe for threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0

    def packed(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """The document of this key, gzipped. One is made at a time: it takes a core either way, and
        who waits for the same one has it then. What ``make`` raises travels on."""
        found = self._find(key)
        if found is None:
            with self._making:
                found = self._find(key)
                if found is None:
                    found = gzip.compress(make(), compresslevel=LEVEL, mtime=0)
                    self._keep(key, found)
        return found

    def _find(self, key: Hashable) -> bytes | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def _keep(self, key: Hashable, content: bytes) -> None:
        with self._lock:
            self._kept[key] = content
            self._bytes += len(content)
            while self._bytes > self._most_bytes:
                self._bytes -= len(self._kept.popitem(last=False)[1])
