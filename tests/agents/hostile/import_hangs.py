"""Never finishes its import."""

import time
from typing import Any

from tests.agents.hostile import kit

time.sleep(1000)


def agent(obs: Any, config: Any) -> Any:
    return kit.move(obs)
