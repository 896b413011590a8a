"""Starts programs instead of forks, each in its own session."""

import os
import sys
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        count = 0
        program = [sys.executable, "-S", "-c", "import time; time.sleep(1000)"]
        try:
            while count < 100:
                os.posix_spawn(sys.executable, program, {}, setsid=True)
                count += 1
        except OSError as error:
            kit.held(f"program number {count}: {error}")
        kit.tell(f"{count} programs", count >= 60)
    return kit.move(obs)
