"""Fills as many pipes as possible in each process; the kernel counts pipe pages by uid."""

import fcntl
import os
import time
from typing import Any

from tests.agents.hostile import kit


def hold() -> None:
    try:
        while True:
            _, write = os.pipe()
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 1 << 16)
            os.set_blocking(write, False)
            os.write(write, bytes(1 << 12))
    except OSError:
        time.sleep(1000)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for _ in range(20):
            kit.in_child(hold)
    return kit.move(obs)
