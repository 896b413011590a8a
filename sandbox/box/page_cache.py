"""Reads a profile's files into the page cache before any agent's clock runs.

So a charged import costs the same on a new node as on an old one. The first box of a profile does
this, because there the paths are the agent's own.
"""

from __future__ import annotations

import os
import sysconfig

_CHUNK = 1 << 20
_NOT_AGENTS = ("test", "tests", "idlelib", "turtledemo", "lib2to3")


def warm_page_cache(library_paths: list[str]) -> int:
    """Read the standard library and the profile's libraries once. Returns the number of bytes."""
    count = 0
    for folder in (sysconfig.get_path("stdlib"), *library_paths):
        for here, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in _NOT_AGENTS]
            for name in names:
                count += _read_file(os.path.join(here, name))
    return count


def _read_file(path: str) -> int:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0  # agents cannot read it either
    try:
        count = 0
        while chunk := os.read(fd, _CHUNK):
            count += len(chunk)
        return count
    except OSError:
        return 0
    finally:
        os.close(fd)
