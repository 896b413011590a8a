"""Waits without computing: a charge by cpu time alone would miss it."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    time.sleep(0.1)
    kit.used(0.1)
    return kit.move(obs)
