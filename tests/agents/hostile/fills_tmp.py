"""Fills its scratch."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"]:
        return kit.move(obs)
    written = 0
    try:
        for index in range(30):
            with open(f"/tmp/{index}", "wb", buffering=0) as file:
                for _ in range(8):
                    written += file.write(bytes(1 << 20))
    except OSError as error:
        kit.held(f"after {written >> 20} MB: {error}")
    kit.tell(f"{written >> 20} MB of scratch", written > 64 << 20)
    for name in os.listdir("/tmp"):
        os.unlink("/tmp/" + name)
    return kit.move(obs)
