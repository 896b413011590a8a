"""Runs a command that ends when its parent process ends, for any reason.

``python -I -S die_with_parent.py SIGNAL PARENT UID NICE COMMAND...``: sets the priority NICE if
allowed and changes to UID (group and user, -1 keeps). Then asks the kernel for SIGNAL at the
parent's death and becomes COMMAND. The order matters: a change of uid clears the request. Uses only
the standard library and runs by path, so that it starts in milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def set_parent_death_signal(signal_number: int, parent: int) -> None:
    """Asks the kernel for ``signal_number`` at the parent's death. Exits if the parent is already
    dead."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        os._exit(0)


def main() -> None:
    signal_number, parent, uid, nice = (int(value) for value in sys.argv[1:5])
    command = sys.argv[5:]
    with contextlib.suppress(OSError):  # only root may raise the priority
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    if uid >= 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    set_parent_death_signal(signal_number, parent)
    os.execvp(command[0], command)  # noqa: S606 - a list, no shell


if __name__ == "__main__":
    main()
