"""Children work and compete for cores while their parent sleeps."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def work() -> None:
    until = time.process_time() + 0.02
    while time.process_time() < until:
        pass


def agent(obs: Any, config: Any) -> Any:
    children = [kit.in_child(work) for _ in range(6)]
    for pid in children:
        os.waitpid(pid, 0)
    kit.used(0.12)
    return kit.move(obs)
