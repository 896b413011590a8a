"""Closes the connection and keeps running."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    os.close(kit.AGENT_FD)
    time.sleep(1000)
