"""Serves the site from a process that keeps the libraries imported; for developers.

``python -m services.developer_server ARGUMENTS`` forks a child that becomes uvicorn with these
arguments. After a kill of that child, the next child imports only our changed modules. If the child
ends otherwise, as after an error in the source, this process ends too.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Final

OWN_PACKAGES: Final = ("egress", "estimates", "games", "ladder", "sandbox", "services", "workers")
"""Our packages. A change in one of their files restarts the parts."""


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
            from services.die_with_parent import set_parent_death_signal

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
