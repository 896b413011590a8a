"""An honest agent that thinks for a while, so that others have time off turn."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    until = time.process_time() + 0.06
    while time.process_time() < until:
        pass
    return kit.move(obs)
