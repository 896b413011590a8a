"""Leaves what it knows in the moments at which files were read and folders changed."""

import os
from typing import Any

from tests.agents.hostile import kit

_CHANGED = os.stat("/tmp").st_mtime_ns


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.tell(f"scratch changed at {_CHANGED}", _CHANGED != 0)
        for path in ("main.py", "tests/agents/hostile/kit.py"):
            kit.first_byte(path)
            status = os.stat(path)
            kit.tell(f"when {path} was read", status.st_atime_ns > status.st_mtime_ns)
        with open("/tmp/mark", "w") as file:
            file.write("mark")
        os.unlink("/tmp/mark")
    return kit.move(obs)
