"""Leaves a mark wherever one could stay for the next match."""

import os
import signal
import socket
import time
from typing import Any

from tests.agents.hostile import kit


def keep() -> None:
    os.setsid()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("\0left")
        door.listen()
        time.sleep(1000)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for path in ("/tmp/left", "/tmp/.hidden", "/tmp/ "):
            with open(path, "w") as file:
                file.write("mark")
        with socket.socket(socket.AF_UNIX) as door:
            door.bind("/tmp/door")
        kit.in_child(keep)
        os.umask(0o777)
        os.nice(5)
        os.chdir("/tmp")
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        for path in ("/dev/shm/left", "/kaggle_simulations/agent/left", "/peck/left", "/run/left"):
            kit.attempt(path, open, path, "w")
        kit.attempt("the bundle's times", os.utime, "/kaggle_simulations/agent/main.py")
        kit.attempt("the bundle's rights", os.chmod, "/kaggle_simulations/agent/main.py", 0o777)
        kit.attempt("the kit", os.unlink, "/kaggle_simulations/agent/tests/agents/hostile/kit.py")
    return kit.move(obs)
