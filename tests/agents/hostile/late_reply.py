"""Thinks past its time, then answers twice."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    time.sleep(0.75)
    return kit.move(obs)
