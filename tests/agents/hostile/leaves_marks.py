"""Leaves a mark in every place where one could survive until the next match."""

import contextlib
import os
import signal
import socket
import time
from typing import Any

from tests.agents.hostile import kit


def keep() -> None:
    os.setsid()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("\0left")
        door.listen()
        time.sleep(1000)


def in_the_bundle() -> None:
    """Leave every mark that its own folder allows; a later match looks for each of them."""
    folder = "/kaggle_simulations/agent"
    for path in (f"{folder}/left", f"{folder}/tests/.left"):
        with open(path, "w") as file:
            file.write("mark")
    os.makedirs(f"{folder}/tests/agents/a/b/c")
    os.link(f"{folder}/main.py", f"{folder}/tests/agents/hostile/linked")
    os.chmod(f"{folder}/main.py", 0o777)
    os.utime(f"{folder}/main.py", (7, 7))
    with open(f"{folder}/main.py", "a") as file:
        file.write("# mark")
    os.unlink(f"{folder}/tests/agents/hostile/kit.py")
    os.mkdir(f"{folder}/tests/agents/hostile/kit.py")
    os.utime(folder)
    for path, times in ((folder, (7, 7)), (f"{folder}/tests", (0, 0))):
        kit.attempt(f"the time of {path}", os.utime, path, times)
    with contextlib.suppress(OSError):  # an extended attribute, if the file system has them
        os.setxattr(f"{folder}/main.py", "user.left", b"mark")
    kit.attempt("a mark on its folder", os.setxattr, folder, "user.left", b"mark")


def look_in_the_bundle() -> None:
    here = os.stat("/kaggle_simulations/agent/main.py")
    kit.tell("main.py with another's rights", here.st_mode & 0o777 != 0o644)
    kit.tell("main.py with another's time", here.st_mtime == 7)
    kit.tell("main.py twice", here.st_nlink != 1)
    kit.tell("main.py of another match", here.st_uid != os.getuid())
    with open("main.py") as file:
        kit.tell("a mark in main.py", file.read().endswith("# mark"))
    with contextlib.suppress(OSError):
        kit.tell("a mark on main.py", os.listxattr("main.py"))
    for at, folders, names in os.walk("."):
        kit.tell(f"when {at} was changed", os.stat(at).st_mtime != 0)
        kit.tell(f"left over in {at}", {*folders, *names} & {"left", ".left", "a", "linked"})


look_in_the_bundle()


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for path in ("/tmp/left", "/tmp/.hidden", "/tmp/ "):
            with open(path, "w") as file:
                file.write("mark")
        with socket.socket(socket.AF_UNIX) as door:
            door.bind("/tmp/door")
        kit.in_child(keep)
        in_the_bundle()
        os.umask(0o777)
        os.nice(5)
        os.chdir("/tmp")
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        for path in ("/dev/shm/left", "/kaggle_simulations/left", "/peck/left", "/run/left"):
            kit.attempt(path, open, path, "w")
    return kit.move(obs)
