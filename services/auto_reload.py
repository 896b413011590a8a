"""Starts an instance's Python parts again when a source file changes; for developers.

Templates and assets need no restart: the site reads them for each page. The daemon that makes boxes
keeps running; after a change in ``sandbox/box`` start the instance again.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Final

from services import preloaded_server
from services.child_processes import Child
from services.host_checks import site_answers
from services.preloaded_server import OWN_PACKAGES
from services.supervised_process import SupervisedProcess
from services.up import CHECKOUT, LocalInstance

RELOADED_PROCESSES: Final = ("api", "scheduler", "worker", "rater")
"""The site first: somebody waits for it. All are ended before it starts, so that no match takes the
processor from it; a request that comes meanwhile waits for it."""
SITE_SECONDS: Final = 20.0


def source_versions() -> dict[Path, int]:
    """All source files with the moment of their last change."""
    found = {}
    for package in OWN_PACKAGES:
        for path in (CHECKOUT / package).rglob("*.py"):
            with contextlib.suppress(FileNotFoundError):
                found[path] = path.stat().st_mtime_ns
    return found


class Reloader:
    """Remembers the source files as they were at the last look."""

    def __init__(self, instance: LocalInstance) -> None:
        self._instance = instance
        self._seen = source_versions()

    def look(self) -> None:
        """Restart the parts when a file has changed since the last look."""
        now = source_versions()
        changed = sorted(dict(now.items() ^ self._seen.items()))
        self._seen = now
        if not changed:
            return
        self._instance.say(f"{changed[0].relative_to(CHECKOUT)} changed: starting the parts again")
        for part in self._parts():
            if part.child is not None and part.child.alive():
                self._end(part, part.child)
        for part in self._parts():
            part.again_at, part.pause_seconds = 0.0, 0.5
            if part.child is None or not part.child.alive():
                part.begin()
            if part.name == "api":
                self._await_site(part)

    def _end(self, part: SupervisedProcess, child: Child) -> None:
        """End the part by force; a site that keeps its libraries stays and forks again."""
        if part.name == "api" and self._instance.options.reload:
            preloaded_server.restart_worker(child.process.pid)
        else:
            child.process.kill()  # its match runs again
            child.process.wait()

    def _parts(self) -> list[SupervisedProcess]:
        """The parts to start again, in the order of PARTS."""
        parts = {part.name: part for part in self._instance.parts}
        return [parts[name] for name in RELOADED_PROCESSES]

    def _await_site(self, part: SupervisedProcess) -> None:
        deadline = time.monotonic() + SITE_SECONDS
        while part.child is not None and part.child.alive() and time.monotonic() < deadline:
            if site_answers(self._instance.settings.port):
                return
            time.sleep(0.05)
