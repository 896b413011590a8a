"""Answers with bytes, sets, classes and numbers in place of a move."""

from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


def agent(obs: Any, config: Any) -> Any:
    return {1: b"EAST", (2, 3): {"EAST"}, None: object}
