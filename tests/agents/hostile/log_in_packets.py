"""Prints byte by byte into packet-mode pipes, in every seat's turn."""

import fcntl
import os
from functools import partial
from typing import Any

from tests.agents.hostile import kit


def drip(fd: int) -> None:
    os.setsid()
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_WRONLY | os.O_DIRECT)
    while True:
        os.write(fd, b".")


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == config["episodeSteps"] - 2:
        for fd in (1, 2, 1, 2):
            kit.in_child(partial(drip, fd))
    return kit.move(obs)
