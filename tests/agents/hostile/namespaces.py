"""Creates namespaces in which it would be root, and tries to enter those of others."""

import os
from typing import Any

from tests.agents.hostile import kit

FLAGS = {
    "user": 0x10000000,
    "mount": 0x20000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x8000000,
    "uts": 0x4000000,
    "cgroup": 0x2000000,
    "time": 0x80,
}


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for name, flag in FLAGS.items():
            kit.refused(f"unshare {name}", 272, 97, flag)
            if os.uname().machine == "x86_64":
                kit.refused(f"clone {name}", 56, -1, flag | 17, 0, 0, 0, 0)
        kit.refused("setns", 308, 268, 0, 0)
        kit.refused("clone3", 435, 435, kit.address(88), 88)
        kit.attempt("a map of uids", open, "/proc/self/uid_map", "w")
        kit.refused("sethostname", 170, 161, 0, 0)
    return kit.move(obs)
