"""Ports for servers that cannot choose a free one themselves."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from typing import Final

PORTS: Final = range(10_000, 22_000)
"""Ports that the kernel does not choose: it gives connections and servers ports from 32768.

So another process rarely takes such a port before the server of the test binds it.
"""


def free_port(*, also_above: int = 0) -> int:
    """A port of this machine that nobody uses. The port ``also_above`` higher is unused too."""
    while True:
        port = random.choice(PORTS)
        with ExitStack() as probes:
            try:
                for number in {port, port + also_above}:
                    probes.enter_context(socket.socket()).bind(("127.0.0.1", number))
            except OSError:
                continue
            return port
