"""Raises an object that is no exception, with a circular cause."""

from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


class Odd(BaseException):
    def __repr__(self) -> str:
        raise self

    __str__ = __repr__


def agent(obs: Any, config: Any) -> Any:
    odd = Odd()
    odd.__cause__ = odd
    raise odd
