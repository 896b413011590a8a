"""Reads an unmapped address."""

import ctypes
from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


def agent(obs: Any, config: Any) -> Any:
    return ctypes.string_at(0)
