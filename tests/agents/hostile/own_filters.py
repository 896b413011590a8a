"""Installs its own system call filters, which fill memory that all boxes share."""

import ctypes
import struct
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(code)))
        at = ctypes.addressof(program)
        kit.refused("seccomp", 317, 277, 1, 0, at)
        kit.refused("a listener", 317, 277, 1, 8, at)
        kit.refused("seccomp by prctl", 157, 167, 22, 2, at, 0, 0)
        kit.refused("core scheduling", 157, 167, 62, 1, 0, 0, 0)
        kit.refused("merged pages", 28, 233, 0, 4096, 12)
        kit.tell("huge pages", kit.call(9, 0, 2 << 20, 3, 0x40022, -1, 0) == 0)
    return kit.move(obs)
