"""Ports for servers that cannot choose a free one themselves."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from typing import Final

PORTS: Final = range(10_000, 22_000)
"""The kernel gives other ports to connections, and to servers that ask for any: 32768 and higher.

So no other process is likely to take such a port before the server of the test binds it.
"""


def free_port(*, also_above: int = 0) -> int:
    """A port of this machine that nobody uses, and nobody uses the one this much higher."""
    while True:
        port = random.choice(PORTS)
        with ExitStack() as probes:
            try:
                for number in {port, port + also_above}:
                    probes.enter_context(socket.socket()).bind(("127.0.0.1", number))
            except OSError:
                continue
            return port
