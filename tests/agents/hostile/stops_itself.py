"""Stops itself, and the children that would continue it."""

import os
import signal
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    kit.in_child(lambda: os.kill(os.getpid(), signal.SIGSTOP))
    os.kill(os.getpid(), signal.SIGSTOP)
    return kit.move(obs)
