"""Leaves data in flags of open files and in memory that a later match might share."""

import errno
import fcntl
import os
from typing import Any

from tests.agents.hostile import kit

F_SETSIG, F_GETSIG, F_SET_RW_HINT, F_SET_FILE_RW_HINT = 10, 11, 1036, 1038
MARK = 42

for fd in range(3):
    kit.tell(f"a signal of file {fd}", fcntl.fcntl(fd, F_GETSIG) == MARK)
    kit.tell(f"a flag of file {fd}", fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND)
with open("/proc/self/maps") as lines:
    kit.tell("memory shared with its parent", any(line.split()[1] == "rw-s" for line in lines))


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for fd in range(3):
            fcntl.fcntl(fd, F_SETSIG, MARK)
            fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
        with open(os.__file__) as library:
            for command in (F_SET_RW_HINT, F_SET_FILE_RW_HINT):
                try:
                    fcntl.fcntl(library, command, bytes(8))
                except OSError as error:
                    kit.tell(f"hint {command} on a library", error.errno != errno.EPERM)
                else:
                    kit.breach(f"hint {command} on a library")
    return kit.move(obs)
