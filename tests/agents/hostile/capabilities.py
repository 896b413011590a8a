"""Lists its rights and asks for more."""

import ctypes
import os
import struct
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        with open("/proc/self/status") as file:
            status = dict(line.rstrip().split(":", 1) for line in file)
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            kit.tell(f"{name}{status[name]}", int(status[name], 16))
        kit.tell("privileges to be gained", status["NoNewPrivs"].strip() != "1")
        kit.tell("no filter of calls", status["Seccomp"].strip() != "2")
        kit.tell(f"groups{status['Groups']}", status["Groups"].strip())
        header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
        wanted = ctypes.create_string_buffer(struct.pack("=6I", 1, 1, 1, 0, 0, 0))
        kit.refused("capset", 126, 91, ctypes.addressof(header), ctypes.addressof(wanted))
        kit.tell("an ambient right", kit.libc.prctl(47, 2, 1, 0, 0) == 0)
        kit.tell("a securebit", kit.libc.prctl(28, 1, 0, 0, 0) == 0)
        kit.tell("root", os.geteuid() == 0)
    return kit.move(obs)
