"""Opens terminals: all boxes of a host share one small limit."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for path in ("/dev/ptmx", "/dev/pts/ptmx", "/dev/tty", "/dev/console"):
            kit.attempt(path, os.open, path, os.O_RDWR | os.O_NOCTTY)
    return kit.move(obs)
