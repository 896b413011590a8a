"""Computes in every other seat's turn and sleeps in its own."""

import threading
import time
from typing import Any

from tests.agents.hostile import kit


def ponder() -> None:
    while True:
        pass


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        threading.Thread(target=ponder, daemon=True).start()
    kit.used_so_far(time.process_time())
    return kit.move(obs)
