"""Creates cpu pressure itself, so that waiting for itself looks like waiting for others."""

import os
import threading
import time
from typing import Any

from tests.agents.hostile import kit

CHILDREN: list[int] = []
TICK_SECONDS = 0.01


def crowd() -> None:
    while True:
        os.sched_yield()


def cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK_SECONDS


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        CHILDREN.extend(kit.in_child(crowd) for _ in range(8))
        threading.Thread(target=crowd, daemon=True).start()
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        os.sched_yield()
    # This counts cpu time, because waits for a core beside busy neighbours are forgiven.
    kit.used_so_far(time.process_time() + sum(map(cpu_seconds, CHILDREN)))
    return kit.move(obs)
