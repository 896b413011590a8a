"""Threads compute in every other seat's turn."""

import threading
from typing import Any

from tests.agents.hostile import kit


def ponder() -> None:
    while True:
        pass


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        threading.Thread(target=ponder, daemon=True).start()
    return kit.move(obs)
