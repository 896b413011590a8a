"""A string that is a move to whoever looks first and another to whoever looks again."""

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
