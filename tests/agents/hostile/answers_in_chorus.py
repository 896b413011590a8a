"""Two processes answer every question."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 1:
        os.fork()
    return kit.move(obs)
