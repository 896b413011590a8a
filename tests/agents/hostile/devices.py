"""Makes device files and opens the machine's devices."""

import os
import stat
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for name, kind, major, minor in (
            ("sda", stat.S_IFBLK, 8, 0),
            ("mem", stat.S_IFCHR, 1, 1),
            ("null", stat.S_IFCHR, 1, 3),
            ("fuse", stat.S_IFCHR, 10, 229),
        ):
            path, device = f"/tmp/{name}", os.makedev(major, minor)
            kit.attempt(f"mknod {name}", os.mknod, path, kind | 0o666, device)
        for name in (
            "mem",
            "kmem",
            "port",
            "sda",
            "vda",
            "fuse",
            "kvm",
            "net/tun",
            "loop-control",
            "nvidiactl",
            "vhost-net",
            "uinput",
            "kmsg",
            "snd",
            "dri/card0",
            "rtc0",
        ):
            kit.attempt(f"/dev/{name}", os.open, f"/dev/{name}", os.O_RDONLY)
    return kit.move(obs)
