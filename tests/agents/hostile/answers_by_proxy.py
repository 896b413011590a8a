"""Its first process ends; a child keeps the connection and continues to answer."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 1 and os.fork():
        os._exit(0)
    return kit.move(obs)
