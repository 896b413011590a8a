"""Reads what /proc shows of its guards: memory, files, environments, roots."""

import os
from typing import Any

from tests.agents.hostile import kit

FILES = ("environ", "mem", "maps", "smaps", "stack", "auxv", "syscall", "pagemap", "io")
FOLDERS = ("fd", "root", "cwd", "ns", "map_files", "fdinfo")


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for pid in kit.others():
            if kit.uid_of(pid) == os.getuid():
                continue
            for name in FILES:
                kit.attempt(f"{name} of {pid}", kit.first_byte, f"/proc/{pid}/{name}")
            for name in FOLDERS:
                kit.attempt(f"{name} of {pid}", os.listdir, f"/proc/{pid}/{name}")
            kit.attempt(f"program of {pid}", os.readlink, f"/proc/{pid}/exe")
        for path in ("/proc/kcore", "/proc/kmsg", "/proc/sysrq-trigger", "/dev/mem", "/dev/kmsg"):
            kit.attempt(path, kit.first_byte, path)
    return kit.move(obs)
