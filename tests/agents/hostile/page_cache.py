"""Two seats talk through the pages of a file that both are shown: one reads it in, one looks."""

import ctypes
import json
import os
import struct
from typing import Any

from tests.agents.hostile import kit

PATH = os.path.dirname(json.__file__) + "/../pydoc_data/topics.py"
WITHOUT_WAITING = 8
was_cached: list[bool] = []


def is_cached(fd: int) -> bool:
    vector = ctypes.create_string_buffer(struct.pack("PN", kit.address(64), 64))
    number = 327 if os.uname().machine == "x86_64" else 286
    return kit.call(number, fd, ctypes.addressof(vector), 1, 65536, 0, WITHOUT_WAITING) == 0


def agent(obs: Any, config: Any) -> Any:
    fd = os.open(PATH, os.O_RDONLY)
    if obs["step"] in (0, 1):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    if obs["step"] == 2 and obs["index"] == 1:
        was_cached.append(is_cached(fd))
    if obs["step"] == 3 and obs["index"] == 0:
        os.read(fd, 1 << 20)
    if obs["step"] == 4:
        told = obs["index"] == 1 and is_cached(fd) and was_cached == [False]
        kit.tell("a word through the page cache", told)
    os.close(fd)
    return kit.move(obs)
