"""Attaches to other processes as a debugger, and reads and writes their memory."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for pid in [os.getppid(), 1, *kit.others()]:
            kit.refused(f"ptrace attach {pid}", 101, 117, 16, pid, 0, 0)
            kit.refused(f"ptrace seize {pid}", 101, 117, 0x4206, pid, 0, 0)
            kit.refused(f"process_vm_readv {pid}", 310, 270, pid, kit.address(16), 1, 0, 0, 0)
            kit.refused(f"process_vm_writev {pid}", 311, 271, pid, kit.address(16), 1, 0, 0, 0)
            kit.refused(f"kcmp {pid}", 312, 272, pid, pid, 0, 0, 0)
            kit.refused(f"process_madvise {pid}", 440, 440, pid, 0, 0, 0, 0)
        kit.refused("pidfd_getfd", 438, 438, 3, 0, 0)
        kit.refused("being traced", 101, 117, 0, 0, 0, 0)
    return kit.move(obs)
