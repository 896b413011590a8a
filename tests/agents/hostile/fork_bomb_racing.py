"""A chain of processes forks and ends faster than a list of them can be made."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def race() -> None:
    os.setsid()
    stop = time.monotonic() + 60
    while time.monotonic() < stop:
        try:
            if os.fork():
                os._exit(0)
        except OSError:
            time.sleep(0.001)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] in (0, 2, 4):
        kit.in_child(race)
    return kit.move(obs)
