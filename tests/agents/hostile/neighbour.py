"""An honest neighbour: some cpu time in a thread, some scratch, and always a legal move."""

import hashlib
import threading
from typing import Any

from tests.agents.hostile import kit


def work(found: list[str]) -> None:
    digest = b"neighbour"
    for _ in range(2000):
        digest = hashlib.sha256(digest).digest()
    found.append(digest.hex())


def agent(obs: Any, config: Any) -> Any:
    found: list[str] = []
    thread = threading.Thread(target=work, args=(found,))
    thread.start()
    thread.join()
    with open("/tmp/notes", "a") as notes:
        notes.write(found[0])
    return kit.move(obs)
