"""Makes links, pipes and odd files where a careless host would read or remove them."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for name, target in (
            ("main.py", "/etc/shadow"),
            ("log", "/proc/1/environ"),
            ("up", "../../../.."),
            ("self", "self"),
            ("root", "/"),
        ):
            os.symlink(target, f"/tmp/{name}")
        kit.attempt("a pipe with a name", os.mkfifo, "/tmp/stdout")
        os.mkdir("/tmp/folder")
        os.symlink("/tmp/folder", "/tmp/folder/circle")
        os.rename("/tmp/folder", "/tmp/moved")
        os.symlink("/kaggle_simulations/agent", "/tmp/folder")
        kit.attempt(
            "a link to what it may not write",
            os.link,
            "/kaggle_simulations/agent/main.py",
            "/tmp/hard",
        )
    return kit.move(obs)
