"""Never answers: spins in its first call and never gives up the processor."""

from typing import Any


def agent(observation: Any, configuration: Any) -> str:
    spins = 0
    while True:
        spins += 1
