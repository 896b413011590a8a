"""Opens ports, and sockets that others could find by name."""

import socket
from typing import Any

from tests.agents.hostile import kit


def listen(family: int, address: Any) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen()


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.attempt("a port", listen, socket.AF_INET, ("0.0.0.0", 0))
        kit.attempt("a port of IPv6", listen, socket.AF_INET6, ("::", 0))
        for folder in ("/run", "/run/peck", "/var/run", "/"):
            kit.attempt(f"a socket in {folder}", listen, socket.AF_UNIX, f"{folder}/door")
        listen(socket.AF_UNIX, "\0door")
    return kit.move(obs)
