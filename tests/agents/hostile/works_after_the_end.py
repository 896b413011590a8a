"""Starts daemons that compute and write without end."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def work() -> None:
    os.setsid()
    if os.fork():
        os._exit(0)
    while True:
        with open(f"/tmp/{time.monotonic_ns()}", "w") as file:
            file.write("x" * 1000)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == config["episodeSteps"] - 2:
        for _ in range(6):
            kit.in_child(work)
    return kit.move(obs)
