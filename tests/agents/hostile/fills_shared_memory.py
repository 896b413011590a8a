"""Looks for storage outside its scratch: shared memory, queues, run and home folders."""

import os
from typing import Any

from tests.agents.hostile import kit

FOLDERS = (
    "/dev/shm",
    "/dev/mqueue",
    "/dev",
    "/run",
    "/run/peck",
    "/var/tmp",
    "/home",
    "/root",
    "/etc",
    "/peck",
    "/peck/peckbox",
    "/kaggle_simulations",
    "/peck/own",
    "/",
    "/sys",
    "/proc",
    "/usr/lib",
    "/mnt",
    "/srv",
)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for folder in FOLDERS:
            kit.attempt(f"a file in {folder}", open, f"{folder}/left", "w")
        kit.attempt("a folder", os.mkdir, "/kaggle_simulations/left")
    return kit.move(obs)
