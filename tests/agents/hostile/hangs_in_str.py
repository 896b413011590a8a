"""Raises an error whose text never ends to compute."""

import time
from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


class Tarpit(Exception):
    def __str__(self) -> str:
        time.sleep(1000)
        return ""

    __repr__ = __str__


def agent(obs: Any, config: Any) -> Any:
    raise Tarpit
