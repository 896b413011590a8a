"""Whether it may be us who are cut off, and not the agents that do not answer.

Our resolver or our line can fail, and then every remote agent looks away. One alone is judged as it
looks; when several hosts in a row could not be reached and none was, nobody is blamed.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final

HOSTS: Final = 3
"""So many different ones, all out of reach."""
WINDOW_SECONDS: Final = 60.0
MOST_HOSTS: Final = 256


class OutageDetector:
    """What was last seen of each host; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[float, bool]] = OrderedDict()

    def record(self, host: str, *, is_reached: bool) -> None:
        """Somebody there took a connection, or refused it; or nobody could be found."""
        with self._lock:
            self._seen[host] = time.monotonic(), is_reached
            self._seen.move_to_end(host)
            while len(self._seen) > MOST_HOSTS:
                self._seen.popitem(last=False)

    @property
    def is_own_network_down(self) -> bool:
        """Whether several hosts were out of reach of late, and none within it."""
        since = time.monotonic() - WINDOW_SECONDS
        with self._lock:
            late = [is_reached for moment, is_reached in self._seen.values() if moment >= since]
        return len(late) >= HOSTS and not any(late)
