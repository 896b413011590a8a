"""Kills its guards: parent, grandparent and process 1, in every way."""

import os
import signal
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"]:
        return kit.move(obs)
    guards = {1, os.getppid()} | {p for p in kit.others() if kit.uid_of(p) != os.getuid()}
    for pid in sorted(guards):
        kit.attempt(f"kill {pid}", os.kill, pid, signal.SIGKILL)
        kit.attempt(f"stop {pid}", os.kill, pid, signal.SIGSTOP)
        if os.getpgid(pid) > 1:  # 0 is a group outside of this box, 1 would be every process
            kit.attempt(f"kill the group of {pid}", os.killpg, os.getpgid(pid), signal.SIGKILL)
        try:
            fd = os.pidfd_open(pid)
        except OSError as error:
            kit.held(f"pidfd of {pid}: {error}")
            continue
        kit.attempt(f"kill {pid} by descriptor", signal.pidfd_send_signal, fd, signal.SIGKILL)
        os.close(fd)
        kit.attempt(f"affinity of {pid}", os.sched_setaffinity, pid, {0})
        kit.attempt(f"priority of {pid}", os.setpriority, os.PRIO_PROCESS, pid, 19)
        kit.refused(f"limits of {pid}", 302, 261, pid, 7, kit.address(16), 0)
    return kit.move(obs)
