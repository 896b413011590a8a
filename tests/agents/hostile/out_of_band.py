"""Sends urgent bytes, half-closes the connection, and sets its options."""

import socket
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    with kit.connection() as own:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            own.setsockopt(socket.SOL_SOCKET, option, 1)
        if obs["step"] == 1:
            try:
                own.send(b"!", socket.MSG_OOB)
            except OSError as error:
                kit.held(f"urgent bytes: {error}")
        if obs["step"] == 2:
            own.shutdown(socket.SHUT_WR)
    return kit.move(obs)
