"""Calls outside: by name, by address, to cloud metadata, to this machine."""

import socket
from typing import Any

from tests.agents.hostile import kit

TARGETS = (("1.1.1.1", 80), ("169.254.169.254", 80), ("127.0.0.1", 5432), ("172.17.0.1", 2375))


def dial(family: int, kind: int, address: Any) -> None:
    with socket.socket(family, kind) as outside:
        outside.settimeout(0.1)
        outside.connect(address)
        outside.send(b"x")


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for target in TARGETS:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                kit.attempt(f"{target} {kind}", dial, socket.AF_INET, kind, target)
        kit.attempt("tcp6", dial, socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700::1111", 80))
        kit.attempt("a name", socket.getaddrinfo, "example.com", 80)
        with open("/proc/net/dev") as lines:
            devices = {line.split(":")[0].strip() for line in lines if ":" in line}
        kit.tell(f"network devices {sorted(devices - {'lo'})}", devices - {"lo"})
    return kit.move(obs)
