"""Attacks during import: forks, fills storage, then dies by a signal."""

import os
import signal
import time
from typing import Any

from tests.agents.hostile import kit

for _ in range(10):
    kit.in_child(lambda: time.sleep(1000))
with open("/tmp/import", "wb", buffering=0) as file:
    file.write(bytes(1 << 24))
os.kill(os.getpid(), signal.SIGKILL)


def agent(obs: Any, config: Any) -> Any:
    return kit.move(obs)
