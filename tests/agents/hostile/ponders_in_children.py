"""Processes compute in every other seat's turn."""

import os
from typing import Any

from tests.agents.hostile import kit


def ponder() -> None:
    os.setsid()
    while True:
        pass


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for _ in range(4):
            kit.in_child(ponder)
    return kit.move(obs)
