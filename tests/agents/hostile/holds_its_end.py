"""Hides behind forty processes on one core, to delay its end."""

import os
from typing import Any

from tests.agents.hostile import kit

_FULL = bytearray()


def keep_busy() -> None:
    os.setsid()
    while True:
        pass


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == config["episodeSteps"] - 2:
        cores = os.sched_getaffinity(0)
        kit.attempt("a core of its own choice", os.sched_setaffinity, 0, {min(cores)})
        _FULL.extend(b"x" * (40 << 20))
        for _ in range(40):
            try:
                kit.in_child(keep_busy)
            except OSError:
                break
        os.nice(19)
    return kit.move(obs)
