"""Starts to fork in its last move, so that the sweep meets it at full speed."""

import contextlib
import os
from typing import Any

from tests.agents.hostile import kit


def bomb() -> None:
    for _ in range(100_000):
        with contextlib.suppress(OSError):
            os.fork()


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == config["episodeSteps"] - 2:
        for _ in range(4):
            kit.in_child(bomb)
    return kit.move(obs)
