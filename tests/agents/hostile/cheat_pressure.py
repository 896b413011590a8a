"""Makes pressure of its own, so that waiting for itself looks like waiting for others."""

import os
import threading
import time
from typing import Any

from tests.agents.hostile import kit


def crowd() -> None:
    while True:
        os.sched_yield()


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for _ in range(8):
            kit.in_child(crowd)
        threading.Thread(target=crowd, daemon=True).start()
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        os.sched_yield()
    kit.used(0.1)
    return kit.move(obs)
