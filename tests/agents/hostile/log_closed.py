"""Closes its own output, or replaces it by other files."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 1:
        os.close(1)
        os.close(2)
        os.dup2(os.open("/tmp/own", os.O_CREAT | os.O_RDWR), 1)
    if obs["step"] == 2:
        os.dup2(kit.AGENT_FD, 2)
        print("to the referee, by way of stderr", flush=True)
        os.write(2, b"unasked")
    return kit.move(obs)
