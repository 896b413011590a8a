"""Sends a frame of brackets longer than the limit."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    kit.connection().sendall(kit.frame(b"[" * 60_000))
    time.sleep(5)
