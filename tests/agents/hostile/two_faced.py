"""Answers with a string that is one move at the first reading and another at the second."""

from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


class Turncoat(str):
    looks = 0

    def __eq__(self, other: object) -> bool:
        self.looks += 1
        return bool(self.looks % 2)

    __hash__ = str.__hash__


def agent(obs: Any, config: Any) -> Any:
    return Turncoat("SIDEWAYS")
