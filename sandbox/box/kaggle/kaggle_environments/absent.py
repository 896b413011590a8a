"""Replaces functions that an agent may import but cannot use in a match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .errors import Unimplemented


def absent(name: str) -> Callable[..., NoReturn]:
    """Return a function that raises Unimplemented with the reason and the remedy."""

    def refuse(*_arguments: Any, **_named: Any) -> NoReturn:
        raise Unimplemented(
            f"{name}() cannot be used by an agent in a match: it belongs to playing games on your "
            "own machine. Call it under `if __name__ == '__main__':`, or leave it out of main.py"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse
