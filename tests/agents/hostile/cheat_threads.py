"""Threads work while the first one sleeps."""

import hashlib
import threading
import time
from typing import Any

from tests.agents.hostile import kit


def work(until_cpu: float) -> None:
    while time.process_time() < until_cpu:
        hashlib.sha256(bytes(1 << 16)).digest()


def agent(obs: Any, config: Any) -> Any:
    # This counts own cpu time, because waits for a core beside busy neighbours are forgiven.
    threads = [threading.Thread(target=work, args=(time.process_time() + 0.1,)) for _ in range(4)]
    before = time.process_time()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.01)
    kit.used(time.process_time() - before)
    return kit.move(obs)
