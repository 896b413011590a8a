"""Gives a different illegal answer in each call."""

from typing import Any

ANSWERS: list[Any] = ["UP", 7, ["NORTH"], {"action": "NORTH"}, "north", True, 1.5, ""]


def agent(observation: Any, configuration: Any) -> Any:
    return ANSWERS[observation.step % len(ANSWERS)]
