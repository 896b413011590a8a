"""Starts threads until the kernel refuses."""

import threading
import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        count = 0
        try:
            while count < 200:
                threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
                count += 1
        except RuntimeError as error:
            kit.held(f"thread number {count}: {error}")
        kit.tell(f"{count} threads", count >= 60)
    return kit.move(obs)
