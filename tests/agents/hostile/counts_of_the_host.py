"""Reads counters that the host keeps for all boxes, and pages shared with all of them."""

import os
import socket
from typing import Any

from tests.agents.hostile import kit

SO_COOKIE, SO_NETNS_COOKIE = 57, 71
PR_SET_MEMORY_MERGE = 67
KEPT = (
    *("cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "swaps"),
    *("thread-self", "uptime", "version"),
)
"""Files that may be readable: they belong to the process or never change."""
COUNTS = (
    "/proc/sys/fs/file-nr",
    "/proc/sys/fs/inode-state",
    "/proc/sys/kernel/pty/nr",
    "/proc/sys/kernel/random/boot_id",
    "/sys/devices/system/node/node0/meminfo",
    "/sys/devices/system/cpu/cpu0/cpuidle/state1/time",
)


def words(path: str) -> list[str]:
    with open(path) as file:
        return file.read().split()


def look_for_counts() -> None:
    """Report every fact about the host's load and memory that this box can read."""
    for name in sorted(os.listdir("/proc")):
        path = f"/proc/{name}"
        if name.isdigit() or name in KEPT:
            continue
        if os.path.isdir(path):
            kit.tell(f"entries of {path}", os.listdir(path))
        else:
            kit.attempt(path, kit.first_byte, path)
    for path in COUNTS:
        kit.attempt(path, kit.first_byte, path)
    memory = dict(zip(words("/proc/meminfo")[::3], words("/proc/meminfo")[1::3], strict=False))
    kit.tell("shared memory of the host", memory["Shmem:"] != "0")
    kit.tell("free memory of the host", memory["MemFree:"] != memory["MemTotal:"])
    kit.tell("time since the host's start", words("/proc/uptime") != ["0.00", "0.00"])
    kit.tell("work of the host's cores", set(words("/proc/stat")[1:11]) != {"0"})
    kit.tell("load of the host", words("/proc/loadavg")[:3] != ["0.00"] * 3)
    kit.refused("sysinfo", 99, 179, kit.address(128))
    with open("/proc/1/cmdline") as file:
        kit.tell(
            "the options of the box", any(w in file.read() for w in ("bind", "/var/", ".state"))
        )


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        look_for_counts()
        with socket.socket(socket.AF_UNIX) as door, kit.connection() as referee:
            for what, end in (("a new socket", door), ("the referee's", referee)):
                for option in (SO_COOKIE, SO_NETNS_COOKIE):
                    kit.attempt(
                        f"cookie {option} of {what}", end.getsockopt, socket.SOL_SOCKET, option, 8
                    )
        kit.tell("pages merged", kit.libc.prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0) == 0)
        kit.attempt("a trigger on all boxes' pressure", os.open, "/proc/pressure/cpu", os.O_RDWR)
    return kit.move(obs)
