"""Ends its process at once."""

import os
from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


def agent(obs: Any, config: Any) -> Any:
    os._exit(0)
