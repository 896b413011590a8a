"""Sends descriptors to the referee and through the referee's connection."""

import array
import os
import socket
import struct
from typing import Any

from tests.agents.hostile import kit


def peer(own: socket.socket) -> int:
    data = own.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int(struct.unpack("=iII", data)[0])


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1]))]
        own = kit.connection()
        kit.attempt("descriptors to the referee", own.sendmsg, [b"x"], rights)
        one, _two = socket.socketpair()
        kit.attempt("descriptors to itself", one.sendmsg, [b"x"], rights)
        kit.attempt("a filter", one.setsockopt, socket.SOL_SOCKET, 26, bytes(16))
        kit.attempt("a lingering end", own.setsockopt, socket.SOL_SOCKET, 13, bytes(8))
        # The box's supervisor made the connection; only its pid may show at the other end.
        kit.tell("the referee's pid", peer(own) and not os.path.exists(f"/proc/{peer(own)}"))
    return kit.move(obs)
