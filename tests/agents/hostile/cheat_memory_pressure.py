"""Hits its memory limit and rereads its own files, to cause stalls."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    before = time.process_time()
    while time.process_time() < before + 0.1:
        with open("/tmp/stall", "wb", buffering=0) as file:
            file.write(bytes(16 << 20))
            os.fsync(file.fileno())
    kit.used(time.process_time() - before)
    return kit.move(obs)
