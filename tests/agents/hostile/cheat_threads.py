"""Threads work while the first one sleeps."""

import hashlib
import threading
import time
from typing import Any

from tests.agents.hostile import kit


def work(until: float) -> None:
    while time.monotonic() < until:
        hashlib.sha256(bytes(1 << 16)).digest()


def agent(obs: Any, config: Any) -> Any:
    until = time.monotonic() + 0.1
    for _ in range(4):
        threading.Thread(target=work, args=(until,)).start()
    time.sleep(0.1)
    kit.used(0.1)
    return kit.move(obs)
