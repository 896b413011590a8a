"""Prints a gigabyte in one move, as far as the box accepts it."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        os.write(1, b"x" * 65536)
    return kit.move(obs)
