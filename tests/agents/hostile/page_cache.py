"""Two seats communicate through the page cache of a shared file: one loads a page, one looks."""

import contextlib
import json
import mmap
import os
import resource
from typing import Any

from tests.agents.hostile import kit

PATH = os.path.dirname(json.__file__) + "/../pydoc_data/topics.py"
WORD, OTHER, CONTROL = 0, 256 << 10, 512 << 10


def forget(fd: int) -> None:
    with contextlib.suppress(OSError):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def is_cached(fd: int, at: int) -> bool:
    try:
        return os.preadv(fd, [bytearray(64)], at, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False
    except OSError as error:
        kit.held(f"a read that does not wait: {error}")
    # The count of page faults shows whether a page came from the disk.
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as pages:
        pages.madvise(mmap.MADV_RANDOM)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        seen = pages[at]
        after = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    return after == before and seen >= 0


def can_be_forgotten(fd: int) -> bool:
    os.pread(fd, 4096, OTHER)
    forget(fd)
    return not is_cached(fd, OTHER)


forgets: list[bool] = []


def agent(obs: Any, config: Any) -> Any:
    fd = os.open(PATH, os.O_RDONLY)
    if obs["step"] == 0 and obs["index"] == 1:
        forgets.append(can_be_forgotten(fd))
    if obs["step"] in (0, 1):
        forget(fd)
    if obs["step"] == 2 and obs["index"] == 0:
        os.pread(fd, 4096, WORD)
    if obs["step"] == 4:
        # A page that cannot be evicted can carry one bit, once in the life of a host.
        told = forgets == [True] and is_cached(fd, WORD) and not is_cached(fd, CONTROL)
        kit.tell("a word through the page cache", told)
    os.close(fd)
    return kit.move(obs)
