"""The port of the site of ``peck up``."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Callable
from typing import Final

from services.host_checks import StartError

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8000
BACKLOG: Final = 2048
"""Connections that may wait while the site starts."""


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
