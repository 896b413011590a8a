"""Uses a period's whole quota at once in many processes, just before its time is up."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def burst() -> None:
    until = time.process_time() + 0.02
    while time.process_time() < until:
        pass


def agent(obs: Any, config: Any) -> Any:
    before = sum(os.times()[:4])
    time.sleep(0.05)
    for pid in [kit.in_child(burst) for _ in range(5)]:
        os.waitpid(pid, 0)
    kit.used(max(0.1, sum(os.times()[:4]) - before))
    return kit.move(obs)
