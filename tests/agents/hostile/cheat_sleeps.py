"""Lets time pass without using any: a charge by cpu alone would see nothing."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    time.sleep(0.1)
    kit.used(0.1)
    return kit.move(obs)
