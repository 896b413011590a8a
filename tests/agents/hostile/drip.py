"""Sends one byte at a time, each before a timeout."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    for byte in kit.frame(kit.reply(kit.question(), "EAST")):
        os.write(kit.AGENT_FD, bytes([byte]))
        time.sleep(0.05)
    time.sleep(5)
