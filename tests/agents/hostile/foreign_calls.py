"""Makes system calls through the table of another architecture, to pass the filter."""

import ctypes
import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if os.uname().machine != "x86_64":
        os.kill(os.getpid(), 31)
    kit.libc.syscall(ctypes.c_long(0x40000000 + 39))
    kit.breach("a call of the x32 table")
    return kit.move(obs)
