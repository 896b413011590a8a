"""Asks for numbers that the host counts for all boxes, and for pages shared with all of them."""

import os
import socket
from typing import Any

from tests.agents.hostile import kit

SO_COOKIE, SO_NETNS_COOKIE = 57, 71
PR_SET_MEMORY_MERGE = 67


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        with socket.socket(socket.AF_UNIX) as door, kit.connection() as referee:
            for what, end in (("a new socket", door), ("the referee's", referee)):
                for option in (SO_COOKIE, SO_NETNS_COOKIE):
                    kit.attempt(
                        f"cookie {option} of {what}", end.getsockopt, socket.SOL_SOCKET, option, 8
                    )
        kit.tell("pages merged", kit.libc.prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0) == 0)
        kit.attempt("a trigger on all boxes' pressure", os.open, "/proc/pressure/cpu", os.O_RDWR)
    return kit.move(obs)
