"""Detects whether our own network is down, rather than the agents.

If our resolver or our line fails, every remote agent looks away. A single host is judged as it
looks. If several hosts in a row were out of reach and none answered, no agent is blamed.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final

HOSTS: Final = 3
"""This many different hosts out of reach mean that our network is down."""
WINDOW_SECONDS: Final = 60.0
MOST_HOSTS: Final = 256


class OutageDetector:
    """The last result of each host. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[float, bool]] = OrderedDict()

    def record(self, host: str, *, is_reached: bool) -> None:
        """Record whether the host accepted or refused a connection, or could not be reached."""
        with self._lock:
            self._seen[host] = time.monotonic(), is_reached
            self._seen.move_to_end(host)
            while len(self._seen) > MOST_HOSTS:
                self._seen.popitem(last=False)

    @property
    def is_own_network_down(self) -> bool:
        """Whether several hosts were out of reach recently and none was reached."""
        since = time.monotonic() - WINDOW_SECONDS
        with self._lock:
            late = [is_reached for moment, is_reached in self._seen.values() if moment >= since]
        return len(late) >= HOSTS and not any(late)
