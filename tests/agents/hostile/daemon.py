"""Starts a daemon that leaves its parents and keeps all inherited descriptors."""

import os
import signal
import time
from typing import Any

from tests.agents.hostile import kit


def leave() -> None:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/tmp")
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    with open("/tmp/daemon", "w") as file:
        file.write("still here")
    time.sleep(1000)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.in_child(leave)
        os.wait()
    return kit.move(obs)
