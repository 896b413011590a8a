"""Recurses until the stack overflows."""

import sys
from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


def deeper(depth: int) -> Any:
    return eval("deeper(depth + 1)", globals(), {"depth": depth})


def agent(obs: Any, config: Any) -> Any:
    sys.setrecursionlimit(1 << 30)
    return deeper(0)
