"""Restarts an instance's Python parts after a source file changed; for developers.

Templates and assets need no restart: the site reads them for each page. The node daemon keeps
running; restart the instance after a change in ``sandbox/box``.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Final

from services import developer_server
from services.child_processes import Child
from services.developer_server import OWN_PACKAGES
from services.environment_variables import CHECKOUT
from services.local_instance import LocalInstance
from services.process_supervisor import SupervisedProcess, site_answers

RELOADED_PROCESSES: Final = ("api", "scheduler", "worker", "rater", "pictures")
"""The site starts first, because the developer waits for it. All parts end before, so that no match
slows the start. Requests in between wait for the site."""
SITE_SECONDS: Final = 20.0


def source_versions() -> dict[Path, int]:
    """All source files with the time of their last change."""
    versions = {}
    for package in OWN_PACKAGES:
        for path in (CHECKOUT / package).rglob("*.py"):
            with contextlib.suppress(FileNotFoundError):
                versions[path] = path.stat().st_mtime_ns
    return versions


class Reloader:
    """Remembers the versions of the source files at the last check."""

    def __init__(self, instance: LocalInstance) -> None:
        self._instance = instance
        self._seen = source_versions()

    def restart_if_changed(self) -> None:
        """Restarts the parts if a file changed since the last check."""
        now = source_versions()
        changed = sorted(dict(now.items() ^ self._seen.items()))
        self._seen = now
        if not changed:
            return
        self._instance.say(f"{changed[0].relative_to(CHECKOUT)} changed: restarting the parts")
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
        """Kills the part. A site that keeps its libraries stays and forks again."""
        if part.name == "api" and self._instance.options.reload:
            developer_server.restart_worker(child.process.pid)
        else:
            child.process.kill()  # its match is queued again
            child.process.wait()

    def _parts(self) -> list[SupervisedProcess]:
        """The parts to restart, in the order of PARTS."""
        parts = {part.name: part for part in self._instance.parts}
        return [parts[name] for name in RELOADED_PROCESSES]

    def _await_site(self, part: SupervisedProcess) -> None:
        deadline = time.monotonic() + SITE_SECONDS
        while part.child is not None and part.child.alive() and time.monotonic() < deadline:
            if site_answers(self._instance.settings.port):
                return
            time.sleep(0.05)
