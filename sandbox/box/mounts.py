"""Mounts that a launcher cannot make: scratch with limits on bytes and inodes, and devices.

Runs once when the box starts, before any hostile byte arrives. The right to mount is then given up
for good.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from . import harden

_LIBC = ctypes.CDLL(None, use_errno=True)
_FLAGS = {"read_only": 1, "nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024}
_REMOUNT, _BIND = 32, 4096
_CAP_SYS_ADMIN = 21


def mount_all(mounts: list[dict[str, Any]]) -> None:
    """Mount a tmpfs for each entry (``path``, ``options``, ``flags``).

    An entry without options only sets the flags of an existing mount. Raises OSError.
    """
    if not mounts:
        return
    for entry in mounts:
        flags = sum(_FLAGS[name] for name in entry["flags"])
        options = entry.get("options")
        result = _LIBC.mount(
            b"tmpfs",
            os.fsencode(entry["path"]),
            b"tmpfs",
            ctypes.c_ulong(flags if options else flags | _REMOUNT | _BIND),
            options.encode() if options else None,
        )
        if result != 0:
            raise OSError(ctypes.get_errno(), f"mounting at {entry['path']}")
    harden.give_up_capability(_CAP_SYS_ADMIN)
