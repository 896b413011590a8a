"""Answers with three hundred megabytes."""

from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


def agent(obs: Any, config: Any) -> Any:
    return "N" * (300 << 20)
