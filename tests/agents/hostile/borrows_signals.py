"""Makes the kernel send signals for it: descriptor owners, timers, death of a parent."""

import fcntl
import os
import signal
import socket
import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for pid in (1, os.getppid()):
            one, two = socket.socketpair()
            try:
                fcntl.fcntl(one, fcntl.F_SETOWN, pid)
                fcntl.fcntl(one, 10, signal.SIGKILL)
                fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
                two.send(b"x")
            except OSError as error:
                kit.held(f"a signal through a descriptor to {pid}: {error}")
            time.sleep(0.01)
            kit.tell(f"process {pid} has gone", not os.path.exists(f"/proc/{pid}"))
    return kit.move(obs)
