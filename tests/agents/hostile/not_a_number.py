"""Answers with what JSON has no word for."""

from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


def agent(obs: Any, config: Any) -> Any:
    return float("nan")
