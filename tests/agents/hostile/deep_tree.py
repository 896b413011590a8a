"""Nests folders deeper than recursive code can follow."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        os.chdir("/tmp")
        try:
            for _ in range(4000):
                os.mkdir("d")
                os.chdir("d")
        except OSError as error:
            kit.held(f"a deeper folder: {error}")
    return kit.move(obs)
