"""Names of kaggle_environments.core: the game's entry, and functions that run games."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .absent import absent
from .envs.hungry_geese import hungry_geese
from .errors import InvalidArgument
from .utils import Struct, structify

Environment = absent("Environment")
evaluate = absent("evaluate")
register = absent("register")

environments: dict[str, dict[str, Any]] = {
    "hungry_geese": {
        "agents": hungry_geese.agents,
        "html_renderer": hungry_geese.html_renderer,
        "interpreter": hungry_geese.interpreter,
        "renderer": hungry_geese.renderer,
        "specification": hungry_geese.specification,
    }
}


_TRIALS = ("render", "reset", "run")
"""What the last lines of a file do to try its agent at home."""


class _Described:
    """A game's name and configuration. Any other attribute raises an error with the reason."""

    def __init__(self, name: str, configuration: dict[str, Any]) -> None:
        self.name = name
        self.specification: Struct = structify(environments[name]["specification"])
        fields = {"runTimeout": 1200, **self.specification["configuration"]}
        defaults = {
            field: told["default"] if isinstance(told, dict) else told
            for field, told in fields.items()
        }
        self.configuration: Struct = structify({**defaults, **configuration})

    def __getattr__(self, name: str) -> Callable[..., list[Any]]:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in _TRIALS or sys._getframe(1).f_code.co_name != "<module>":
            absent(f"make().{name}")()
        return _skipped(name)


def _skipped(name: str) -> Callable[..., list[Any]]:
    """A trial outside all functions plays nothing: the file's agent is what the match needs."""

    def skip(*_arguments: Any, **_named: Any) -> list[Any]:
        print(f"make().{name}() is skipped: a match plays no game of its own", file=sys.stderr)
        return []

    return skip


def make(environment: str, configuration: dict[str, Any] | None = None, **_: Any) -> _Described:
    """Return the game's configuration for an agent that asks for it. It plays nothing."""
    if environment not in environments:
        raise InvalidArgument("Unknown Environment Specification")
    return _Described(environment, configuration or {})
