"""Changes its user: by system calls, by a set-uid program, by a root shell."""

import os
import stat
import subprocess
from typing import Any

from tests.agents.hostile import kit

PROGRAMS = ("/bin/su", "/usr/bin/sudo", "/usr/bin/newgrp", "/usr/bin/passwd", "/usr/bin/pkexec")


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for uid in (0, os.getuid() + 1, os.getuid() - 1):
            for name in ("setuid", "setreuid", "setresuid", "setgid", "setresgid", "setgroups"):
                count = {"setuid": 1, "setgid": 1, "setreuid": 2, "setgroups": 1}.get(name, 3)
                values = [[uid]] if name == "setgroups" else [uid] * count
                kit.attempt(f"{name} {uid}", getattr(os, name), *values)
        kit.refused("setfsuid", 122, 151, 0)
        with open("/tmp/root", "wb") as file:
            file.write(b"#!/bin/sh\nid\n")
        os.chmod("/tmp/root", 0o6755)
        kit.attempt("a program in scratch", subprocess.run, ["/tmp/root"])
        kit.attempt("a file given away", os.chown, "/tmp/root", 0, 0)
        for path in PROGRAMS:
            bits = os.stat(path).st_mode if os.path.exists(path) else 0
            kit.tell(f"{path} with its bit", bits & (stat.S_ISUID | stat.S_ISGID))
        kit.attempt("its file given away", os.chown, "/kaggle_simulations/agent/main.py", 0, 0)
        kit.attempt("its folder's rights", os.chmod, "/kaggle_simulations/agent", 0o755)
        kit.attempt("its folder's owner", os.chown, "/kaggle_simulations/agent", os.getuid(), -1)
        kit.attempt("who the user is", open, "/etc/passwd", "a")
        kit.tell(f"uid {os.getuid()}", os.getuid() < 10_000 or os.geteuid() == 0)
    return kit.move(obs)
