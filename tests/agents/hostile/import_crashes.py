"""Fails deep in its file."""

from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    return kit.move(obs)


raise LookupError("no weights\x1b[2J")
