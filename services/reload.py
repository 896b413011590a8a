"""Starts a house's Python parts again when a source file changes; for developers.

Templates and assets need no restart: the site reads them for each page. The daemon that makes boxes
keeps running; after a change in ``sandbox/box`` start the house again.
"""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path
from typing import Final

from services.premises import HOST
from services.up import CHECKOUT, House

PACKAGES: Final = ("games", "ladder", "sandbox", "services", "workers")
PARTS: Final = ("api", "scheduler", "worker", "rater")
"""The site first: somebody waits for it."""
SITE_SECONDS: Final = 20.0


def versions() -> dict[Path, int]:
    """All source files with the moment of their last change."""
    found = {}
    for package in PACKAGES:
        for path in (CHECKOUT / package).rglob("*.py"):
            with contextlib.suppress(FileNotFoundError):
                found[path] = path.stat().st_mtime_ns
    return found


class Reloader:
    """Remembers the source files as they were at the last look."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._seen = versions()

    def look(self) -> None:
        """Restart the parts when a file has changed since the last look."""
        now = versions()
        changed = sorted(dict(now.items() ^ self._seen.items()))
        self._seen = now
        if not changed:
            return
        self._house.say(f"{changed[0].relative_to(CHECKOUT)} changed: starting the parts again")
        for name in PARTS:
            self._restart(name)

    def _restart(self, name: str) -> None:
        (part,) = (part for part in self._house.parts if part.name == name)
        if part.child is not None:
            part.child.process.kill()  # its match runs again
            part.child.stop()
        part.again_at, part.pause_seconds = 0.0, 0.5
        child = part.begin()
        deadline = time.monotonic() + SITE_SECONDS
        while name == "api" and child.alive() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection((HOST, self._house.settings.port), 1.0).close()
                return
            time.sleep(0.05)
