"""Rewrites the harness in its own process: encoder, reader, and exit."""

import json
import os
import sys
from typing import Any

from tests.agents.hostile import kit


def always(*args: Any, **options: Any) -> Any:
    return '"EAST"'


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 1:
        json.dumps = always
        os._exit = lambda status: None  # type: ignore[assignment,return-value]
        for name, module in list(sys.modules.items()):
            if "harness" in name:
                vars(module).clear()
    return kit.move(obs)
