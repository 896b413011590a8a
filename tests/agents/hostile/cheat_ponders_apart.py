"""Grandchildren compute in every other seat's turn."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def ponder() -> None:
    os.setsid()
    while True:
        with open("/tmp/used", "w") as file:
            file.write(f"{time.process_time():.6f}")
        until = time.process_time() + 0.01
        while time.process_time() < until:
            pass


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.in_child(lambda: kit.in_child(ponder))
    if os.path.exists("/tmp/used"):
        with open("/tmp/used") as file:
            kit.used_so_far(float(file.read() or 0))
    return kit.move(obs)
