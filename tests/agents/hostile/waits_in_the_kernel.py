"""Holds processes in states that are hard to end: vfork, stopped, in a full pipe."""

import ctypes
import os
import signal
import time
from typing import Any

from tests.agents.hostile import kit


def stuck() -> None:
    os.setsid()
    if kit.libc.vfork() == 0:
        kit.libc.pause()


def full() -> None:
    _, write = os.pipe()
    while True:
        os.write(write, bytes(1 << 16))


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for _ in range(5):
            kit.in_child(stuck)
            kit.in_child(full)
            kit.in_child(lambda: os.kill(0 or os.getpid(), signal.SIGSTOP))
        time.sleep(0.05)
        kit.held(f"{len(kit.others())} processes, {ctypes.sizeof(ctypes.c_void_p)} bytes a pointer")
    return kit.move(obs)
