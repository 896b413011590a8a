"""Sends a list nested ten thousand times."""

from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


def agent(obs: Any, config: Any) -> Any:
    answer: list[Any] = []
    for _ in range(10_000):
        answer = [answer]
    return answer
