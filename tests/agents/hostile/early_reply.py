"""A second process answers before the question."""

import time
from typing import Any

from tests.agents.hostile import kit


def early() -> None:
    time.sleep(0.05)
    kit.write(kit.reply(1, "EAST"))
    time.sleep(5)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 1:
        kit.in_child(early)
    if obs["step"] == 2:
        time.sleep(0.15)
    return kit.move(obs)
