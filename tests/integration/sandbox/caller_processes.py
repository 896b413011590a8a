"""Looks at the processes that call remote agents, and acts as their user."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path

from sandbox.errors import HostFault


def as_uid(uid: int, work: Callable[[], object]) -> None:
    """Run ``work`` in a thread with this uid; the raw call changes no other thread."""
    failed: list[BaseException] = []

    def run() -> None:
        call = {"x86_64": 117, "aarch64": 147}[os.uname().machine]  # setresuid
        assert ctypes.CDLL(None).syscall(call, uid, uid, uid) == 0
        try:
            work()
        except HostFault as fault:
            failed.append(fault)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def remembers(pid: int, secret: bytes) -> bool:
    """Whether the secret is in any memory that the process can write."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            where, rights, *_ = line.split()
            if rights.startswith("rw"):
                first, last = (int(text, 16) for text in where.split("-"))
                memory.seek(first)
                with contextlib.suppress(OSError):  # the kernel's own pages
                    if secret in memory.read(last - first):
                        return True
    return False


def lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
