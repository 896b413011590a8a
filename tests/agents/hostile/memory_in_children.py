"""Spreads its memory over processes, so that none of them is large."""

import os
import time
from functools import partial
from typing import Any

from tests.agents.hostile import kit


def hold(told: int) -> None:
    taken = bytearray(20 << 20)
    os.write(told, b"x")
    time.sleep(1000 + len(taken) % 2)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"]:
        return kit.move(obs)
    heard, told = os.pipe()
    os.set_blocking(heard, False)
    children = [kit.in_child(partial(hold, told)) for _ in range(30)]
    time.sleep(2)
    alive = sum(os.waitpid(pid, os.WNOHANG)[0] == 0 for pid in children)
    try:  # on a busy machine some children have not run yet
        holding = min(alive, len(os.read(heard, len(children))))
    except BlockingIOError:
        holding = 0
    kit.tell(f"{holding * 20} MB in {holding} processes", holding >= 20)
    return kit.move(obs)
