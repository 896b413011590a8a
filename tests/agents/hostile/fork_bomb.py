"""Forks until the kernel refuses, and keeps the processes until the match is over."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        count = 0
        try:
            while count < 200:
                kit.in_child(lambda: time.sleep(1000))
                count += 1
        except OSError as error:
            kit.held(f"fork number {count}: {error}")
        kit.tell(f"{count} processes", count >= 60)
    return kit.move(obs)
