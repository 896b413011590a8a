"""Restarts an instance's Python parts after a source file changed; for developers.

Templates and assets need no restart: the site reads them for each page. The node daemon keeps
running; restart the instance after a change in ``sandbox/box``.

``python -m services.run.reload ARGUMENTS`` serves the site from a process that keeps the libraries
imported. It forks a child that becomes uvicorn with these arguments. After a kill of that child,
the next child imports only our changed modules. If the child ends otherwise, as after an error in
the source, this process ends too.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

from services.environment_variables import CHECKOUT
from services.run.child_processes import Child
from services.run.local_instance import LocalInstance
from services.run.process_supervisor import SupervisedProcess, site_answers

OWN_PACKAGES: Final = ("egress", "estimates", "games", "ladder", "sandbox", "services", "workers")
"""Our packages. A change in one of their files restarts the parts."""
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
        parts = {part.name: part for part in self._instance.parts}
        for name in RELOADED_PROCESSES:
            child = parts[name].child
            if child is not None and child.alive():
                self._end(name, child)
        for name in RELOADED_PROCESSES:
            part = parts[name]
            part.again_at, part.pause_seconds = 0.0, 0.5
            if part.child is None or not part.child.alive():
                part.begin()
            if name == "api":
                self._await_site(part)

    def _end(self, name: str, child: Child) -> None:
        """Kills the part. A site that keeps its libraries stays and forks again."""
        if name == "api" and self._instance.options.reload:
            restart_worker(child.process.pid)
        else:
            child.process.kill()  # its match is queued again
            child.process.wait()

    def _await_site(self, part: SupervisedProcess) -> None:
        deadline = time.monotonic() + SITE_SECONDS
        while part.child is not None and part.child.alive() and time.monotonic() < deadline:
            if site_answers(self._instance.settings.port):
                return
            time.sleep(0.05)


def main() -> None:
    with contextlib.suppress(Exception):  # the child reports the error
        importlib.import_module("services.application")
    import uvicorn

    for name in [name for name in sys.modules if name.partition(".")[0] in OWN_PACKAGES]:
        del sys.modules[name]
    importlib.invalidate_caches()
    while True:
        parent, child = os.getpid(), os.fork()
        if child == 0:
            from services.run.die_with_parent import set_parent_death_signal

            set_parent_death_signal(signal.SIGKILL, parent)
            uvicorn.main()
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            sys.exit(1)


def restart_worker(pid: int) -> None:
    """Kills the child of the process ``pid``, so that it forks again."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)


if __name__ == "__main__":
    main()
