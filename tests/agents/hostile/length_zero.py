"""Sends an empty frame."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    kit.connection().send(kit.frame(b""))
    time.sleep(5)
