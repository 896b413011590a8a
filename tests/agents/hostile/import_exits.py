"""Ends its process during import."""

import os
from typing import Any

from tests.agents.hostile import kit

os._exit(7)


def agent(obs: Any, config: Any) -> Any:
    return kit.move(obs)
