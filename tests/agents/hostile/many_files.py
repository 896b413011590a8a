"""Creates up to three hundred thousand files."""

import os
import time
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"]:
        return kit.move(obs)
    count, until = 0, time.monotonic() + 0.4
    try:
        while count < 300_000 and time.monotonic() < until:
            os.close(os.open(f"/tmp/{count}", os.O_CREAT))
            count += 1
    except OSError as error:
        kit.held(f"file number {count}: {error}")
    kit.tell(f"{count} files", count > 4096)
    return kit.move(obs)
