"""Leaves data in the access times of files and the change times of folders."""

import contextlib
import os
from typing import Any

from tests.agents.hostile import kit

DEVICES = ("null", "zero", "full", "random", "urandom")
_UNPACKED = os.stat("main.py").st_ctime_ns
_CHANGED = os.stat("/tmp").st_mtime_ns

for name in DEVICES:
    kit.tell(f"when /dev/{name} was touched", os.stat(f"/dev/{name}").st_mtime_ns > _UNPACKED)


def touch(path: str) -> None:
    before = os.stat(path)
    if before.st_dev == os.stat("/dev").st_dev:
        raise OSError("it is the box's own")  # the box loses the mark
    os.utime(path)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        kit.tell(f"scratch changed at {_CHANGED}", _CHANGED != 0)
        for path in ("main.py", "tests/agents/hostile/kit.py"):
            kit.first_byte(path)
            status = os.stat(path)
            kit.tell(f"when {path} was read", status.st_atime_ns > status.st_mtime_ns)
        for name in DEVICES:
            kit.attempt(f"a mark on the host's /dev/{name}", touch, f"/dev/{name}")
            with contextlib.suppress(OSError):
                os.utime(f"/dev/{name}")
        with open("/tmp/mark", "w") as file:
            file.write("mark")
        os.unlink("/tmp/mark")
    return kit.move(obs)
