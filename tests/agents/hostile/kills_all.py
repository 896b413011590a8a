"""Kills every process that it may, as its last act."""

import os
import signal
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    os.kill(-1, signal.SIGTERM)
    kit.in_child(lambda: os.kill(-1, signal.SIGKILL))
    for pid in kit.others():
        if kit.uid_of(pid) != os.getuid():
            kit.attempt(f"a signal to process {pid}", os.kill, pid, signal.SIGKILL)
    return kit.move(obs)
