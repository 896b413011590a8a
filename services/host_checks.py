"""Checks of this machine for ``peck up``: a sandbox, a port, and log files."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from services import system_packages

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8000
BACKLOG: Final = 2048
"""Connections that may wait while the site starts."""
LOG_BYTES: Final = 20 * 1024 * 1024


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


def listen_on_port(asked: int | None, say: Callable[[str], None]) -> socket.socket:
    """A socket that listens on the requested port. Default: 8000, or a free port if 8000 is taken.
    The socket stays open, so that no other program can take the port. Raises StartError."""
    try:
        return _try_listen(DEFAULT_PORT if asked is None else asked)
    except OSError as error:
        if asked is not None:
            raise StartError(f"--port {asked}: choose another port ({error.strerror})") from None
    say(f"port {DEFAULT_PORT} is taken; using another")
    return _try_listen(0)


def _try_listen(port: int) -> socket.socket:
    listener = socket.create_server((HOST, port), backlog=BACKLOG)
    # Connections inherit it. asyncio does not set it, because uvicorn opens the socket as a Unix
    # socket.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def site_answers(port: int) -> bool:
    """Whether the site on this port answers any request within a second."""
    connection = http.client.HTTPConnection(HOST, port, timeout=1.0)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/health/live")
        connection.getresponse()
        return True
    return False


def rotate_log(log: Path) -> Path:
    """The log. Renames a large one first, so that at most two exist."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
    return log
