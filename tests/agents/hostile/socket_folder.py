"""Attacks the folder of the supervisor's socket."""

import os
import socket
from typing import Any

from tests.agents.hostile import kit


def dial(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(path)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        folder = "/run/peck"
        kit.attempt("a file", open, f"{folder}/planted", "w")
        kit.attempt("a link", os.symlink, "/etc/passwd", f"{folder}/link")
        kit.attempt("a pipe", os.mkfifo, f"{folder}/pipe")
        kit.attempt("its rights", os.chmod, folder, 0o777)
        kit.attempt("its name", os.rename, folder, "/run/other")
        kit.attempt("its removal", os.rmdir, folder)
        for name in ("control", "node.sock", "../control"):
            kit.attempt(f"the socket {name}", dial, f"{folder}/{name}")
            kit.attempt(f"removing {name}", os.unlink, f"{folder}/{name}")
    return kit.move(obs)
