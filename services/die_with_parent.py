"""Runs a command that ends when the process that started it ends, however that happens.

``python -I -S die_with_parent.py SIGNAL PARENT UID NICE COMMAND...``: takes the priority NICE
where it may, drops to UID (group and user, -1 keeps), asks the kernel for SIGNAL at the parent's
death, then becomes COMMAND. The order matters: a change of uid clears the request. Standard library
only, run by path, so that it starts in milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def tie_to_parent(signal_number: int, parent: int) -> None:
    """Ask for ``signal_number`` when the parent dies; exits when it is dead already."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        os._exit(0)


def main() -> None:
    signal_number, parent, uid, nice = (int(value) for value in sys.argv[1:5])
    command = sys.argv[5:]
    with contextlib.suppress(OSError):  # only root may raise it
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    if uid >= 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    tie_to_parent(signal_number, parent)
    os.execvp(command[0], command)  # noqa: S606 - a list, no shell


if __name__ == "__main__":
    main()
