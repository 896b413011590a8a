"""Aborts, which writes a core dump if the host allows it."""

import os
import resource
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    kit.attempt("the core limit", resource.setrlimit, resource.RLIMIT_CORE, (0, 0))
    os.abort()
