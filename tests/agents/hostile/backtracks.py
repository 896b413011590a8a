"""Runs a regular expression that never returns."""

import re
from typing import Any

from tests.agents.hostile import kit  # noqa: F401 (its import looks around)


def agent(obs: Any, config: Any) -> Any:
    return re.match(r"(a+)+$", "a" * 60 + "b")
