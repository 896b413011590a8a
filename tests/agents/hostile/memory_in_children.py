"""Spreads its memory over processes, so that none of them is large."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def hold() -> None:
    taken = bytearray(20 << 20)
    time.sleep(1000 + len(taken) % 2)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"]:
        return kit.move(obs)
    children = [kit.in_child(hold) for _ in range(30)]
    time.sleep(2)
    alive = sum(os.waitpid(pid, os.WNOHANG)[0] == 0 for pid in children)
    kit.tell(f"{alive * 20} MB in {alive} processes", alive >= 20)
    return kit.move(obs)
