"""A frame longer than any that is allowed, of brackets."""

import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    kit.connection().sendall(kit.frame(b"[" * 60_000))
    time.sleep(5)
