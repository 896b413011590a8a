"""Lowers its OOM score and fills memory without an owner, so that other processes are killed."""

import os
import time
from typing import Any

from tests.agents.hostile import kit

PR_SET_DUMPABLE = 4


def lighten() -> None:
    kit.libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("0")
    except OSError as error:
        kit.held(f"the killer's choice: {error}")


def agent(obs: Any, config: Any) -> Any:
    lighten()
    for index in range(12):
        fd = os.memfd_create("x")
        os.write(fd, bytes(20 << 20))
        if index < 2:
            with open(f"/tmp/{index}", "wb", buffering=0) as file:
                file.write(bytes(20 << 20))
    time.sleep(5)
    return kit.move(obs)
