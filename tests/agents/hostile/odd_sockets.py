"""Opens sockets of every family that this kernel might know."""

import socket
from typing import Any

from tests.agents.hostile import kit

NAMES = {
    socket.AF_INET: "internet",
    socket.AF_PACKET: "packet",
    socket.AF_NETLINK: "netlink",
    40: "vsock",
    38: "alg",
    29: "can",
    44: "xdp",
    31: "bluetooth",
    30: "tipc",
    15: "key",
    24: "pppox",
}


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for family in range(2, 46):
            for kind in (
                socket.SOCK_STREAM,
                socket.SOCK_DGRAM,
                socket.SOCK_RAW,
                socket.SOCK_SEQPACKET,
            ):
                try:
                    socket.socket(family, kind).close()
                except OSError:
                    continue
                kit.breach(f"a socket of family {NAMES.get(family, family)}, kind {kind}")
        kit.attempt("a raw unix socket", socket.socket, socket.AF_UNIX, socket.SOCK_RAW)
        kit.held("families 2 to 45")
    return kit.move(obs)
