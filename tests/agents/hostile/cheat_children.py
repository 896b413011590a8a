"""Children work while their parent sleeps, and crowd each other for its good."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def work() -> None:
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        pass


def agent(obs: Any, config: Any) -> Any:
    children = [kit.in_child(work) for _ in range(6)]
    for pid in children:
        os.waitpid(pid, 0)
    kit.used(0.1)
    return kit.move(obs)
