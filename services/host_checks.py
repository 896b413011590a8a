"""What this machine offers to ``peck up``: a sandbox, a port, room for logs."""

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
"""Connections that wait while the site starts."""
LOG_BYTES: Final = 20 * 1024 * 1024


class StartError(Exception):
    """The instance cannot be started; the message is what to do."""


def ensure_launcher(launcher: str, install: bool, say: Callable[[str], None]) -> None:
    """See that boxes can be made at all; installs bubblewrap where neither it nor an engine is.

    Raises StartError with the line to type.
    """
    if launcher in ("docker", "process"):
        return
    if launcher == "auto" and engine_answers():
        return
    try:
        system_packages.install_package("bubblewrap", allowed=install, say=say)
    except system_packages.PackageError as error:
        raise StartError(f"agents need a sandbox: {error}") from None


def engine_answers() -> bool:
    """Whether a Docker engine listens where the environment says, else at the usual place."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not address.startswith("unix://"):
        return True  # the node will find out
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2.0)
        client.connect(address.removeprefix("unix://"))
        return True
    return False


def listen_on_port(asked: int | None, say: Callable[[str], None]) -> socket.socket:
    """A socket that listens on the port asked for; by default on 8000, or on a free port when 8000
    is taken. It is kept until the site serves it, so no other program can take the port meanwhile.
    Raises StartError."""
    try:
        return _try_listen(DEFAULT_PORT if asked is None else asked)
    except OSError as error:
        if asked is not None:
            raise StartError(f"--port {asked}: {error.strerror}; choose another") from None
    say(f"port {DEFAULT_PORT} is taken; using another")
    return _try_listen(0)


def _try_listen(port: int) -> socket.socket:
    listener = socket.create_server((HOST, port), backlog=BACKLOG)
    # Connections inherit it. uvicorn takes a handed socket for a UNIX one, where asyncio sets none.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def site_answers(port: int) -> bool:
    """Whether the site on this port answers a request, in whatever way, within a second."""
    connection = http.client.HTTPConnection(HOST, port, timeout=1.0)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/health/live")
        connection.getresponse()
        return True
    return False


def rotate_log(log: Path) -> Path:
    """The log; a large one is put aside first, so that two of them are the most there is."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
    return log
