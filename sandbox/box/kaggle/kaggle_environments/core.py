"""Names of kaggle_environments.core: the game's entry, and functions that run games."""

from __future__ import annotations

from typing import Any, NoReturn

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

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        absent(f"make().{name}")()


def make(environment: str, configuration: dict[str, Any] | None = None, **_: Any) -> _Described:
    """Return the game's configuration for an agent that asks for it. It plays nothing."""
    if environment not in environments:
        raise InvalidArgument("Unknown Environment Specification")
    return _Described(environment, configuration or {})
