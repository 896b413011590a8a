"""Runs against its memory limit and reads its own files back, to stall on purpose."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        with open("/tmp/stall", "wb", buffering=0) as file:
            file.write(bytes(16 << 20))
            os.fsync(file.fileno())
    kit.used(0.1)
    return kit.move(obs)
