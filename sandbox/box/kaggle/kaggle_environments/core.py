"""Names of kaggle_environments.core: the one game's entry, and what would run games."""

from __future__ import annotations

from typing import Any

from .absent import absent
from .envs.hungry_geese import hungry_geese

Environment = absent("Environment")
evaluate = absent("evaluate")
make = absent("make")
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
