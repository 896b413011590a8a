"""Keeps its process busy elsewhere and never reads again."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 1:
        kit.write(kit.reply(kit.question(), kit.move(obs)))
        time.sleep(1000)
    return kit.move(obs)
