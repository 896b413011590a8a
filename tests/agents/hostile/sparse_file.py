"""Makes a file of the largest nominal size, and an open file without a name."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.attempt("a terabyte of holes", os.truncate, os.open("/tmp/a", 66), 1 << 40)
        fd = os.open("/tmp/b", os.O_CREAT | os.O_RDWR)
        os.unlink("/tmp/b")
        try:
            os.posix_fallocate(fd, 0, 63 << 20)
        except OSError as error:
            kit.held(f"an open file without a name: {error}")
    return kit.move(obs)
