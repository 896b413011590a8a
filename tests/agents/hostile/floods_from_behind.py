"""Processes print without end, in every seat's turn."""

import os
from typing import Any

from tests.agents.hostile import kit


def flood() -> None:
    os.setsid()
    for _ in range(20_000):
        os.write(1, b"flood " * 1000)
        os.write(2, b"flood " * 1000)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.in_child(flood)
        kit.in_child(flood)
    return kit.move(obs)
