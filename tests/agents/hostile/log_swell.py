"""Writes a log that grows when it is stored: control characters under 100 000 forged steps."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    mark = kit.secret_mark()
    at = obs["step"] * 15_000
    for first in range(at, at + 15_000, 100):
        steps = range(first, first + 100)
        os.write(1, b"".join(mark + b"%d\0" % step + b"\x01" * 11 for step in steps))
    return kit.move(obs)
