"""Holds the interpreter's lock in one long computation."""

from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


def agent(obs: Any, config: Any) -> Any:
    return pow(3, 10**9) % 4
