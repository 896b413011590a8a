"""Connects to the node daemon and turns its errors into HostFault."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox.box import wire
from sandbox.errors import BoxLate, HostFault

CROWD_SECONDS = 0.01
"""Pause before the next try to connect when the node's queue is full."""


def connect_to_node(node_socket: Path, deadline: float) -> socket.socket:
    """A connection to the node. Raises HostFault if none answers in time."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while True:
        try:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            connection.connect(str(node_socket))
        except OSError as error:
            # A unix socket whose queue is full refuses at once, so wait here.
            if isinstance(error, BlockingIOError) and time.monotonic() < deadline:
                time.sleep(CROWD_SECONDS)
                continue
            connection.close()
            raise HostFault(f"no node answers at {node_socket}: {error}") from None
        return connection


@contextlib.contextmanager
def translate_node_errors(what: str) -> Iterator[None]:
    """Raise HostFault in place of an error of the connection."""
    try:
        yield
    except (wire.WireError, OSError) as error:
        raise HostFault(f"{what}: {error}") from None


def raise_fault(answer: dict[str, Any]) -> None:
    """Raise the fault that the node reports in its answer, if it reports one."""
    if answer.get("op") == "fault":
        kind = BoxLate if answer.get("late") is True else HostFault
        raise kind(str(answer.get("reason")))
