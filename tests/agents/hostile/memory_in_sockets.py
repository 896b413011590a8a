"""Fills kernel memory: as many full pipes and sockets as possible."""

import fcntl
import os
import socket
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    total, kept = 0, []
    for _ in range(100):
        try:
            one, two = socket.socketpair()
            one.setblocking(False)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
            read, write = os.pipe()
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 1 << 20)
        except OSError as error:
            kit.held(f"after {total >> 10} kB: {error}")
            break
        os.set_blocking(write, False)
        for fd in (one.fileno(), write):
            try:
                while total < 1 << 30:
                    total += os.write(fd, bytes(65536))
            except OSError:
                continue
        kept += [one, two, read, write]
    kit.tell(f"{total >> 20} MB in the kernel", total > 512 << 20)
    return kit.move(obs)
