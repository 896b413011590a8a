"""Fills memory without a process: anonymous files, up to 300 MB."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    for _ in range(10):
        fd = os.memfd_create("x")
        os.write(fd, bytes(30 << 20))
    kit.breach("300 MB in anonymous files")
    return kit.move(obs)
