"""Checks that this machine can isolate agents."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable

from services import system_packages


class StartError(Exception):
    """The instance cannot start. The message says what to do."""


def ensure_launcher(launcher: str, install: bool, say: Callable[[str], None]) -> None:
    """Checks that sandboxes work. Installs bubblewrap if it and an engine are missing.

    Raises StartError with the command to type.
    """
    if launcher in ("docker", "process"):
        return
    if launcher == "auto" and engine_answers():
        return
    try:
        system_packages.install_package("bubblewrap", allowed=install, say=say)
    except system_packages.PackageError as error:
        raise StartError(f"{error} (agents need a sandbox)") from None


def engine_answers() -> bool:
    """Whether a Docker engine listens at the address in the environment, or at the usual one."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not address.startswith("unix://"):
        return True  # the node daemon checks it
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2.0)
        client.connect(address.removeprefix("unix://"))
        return True
    return False
