"""Provides two names that programs in a box look for: the match's user and the OpenMP library."""

from __future__ import annotations

import os

USER = "agent"
_USERS = "root:x:0:0:root:/:/bin/false\n{user}:x:{uid}:{uid}:{user}:{home}:/bin/sh\n"
_OPENMP = "libgomp.so.1"
_BUNDLED = ("scikit_learn.libs", "torch/lib")
"""Where wheels keep their own OpenMP, under a name that no other wheel asks for."""


def write_passwd_file(folder: str, uid: int, home: str) -> None:
    """Write the file that ``/etc/passwd`` links to, with this uid as the box's only user."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    fd = os.open(f"{folder}/passwd", flags, 0o644)
    try:
        os.write(fd, _USERS.format(user=USER, uid=uid, home=home).encode("ascii"))
    finally:
        os.close(fd)


def link_openmp(folder: str, library_paths: list[str]) -> str | None:
    """Link the OpenMP library of a wheel under its usual name. Returns the folder of the link.

    lightgbm's wheel has none and asks for the system's, which a box may lack. The loader treats two
    names of one file as one library, so all wheels share its threads. None if no wheel in these
    paths has an OpenMP library.
    """
    for path in library_paths:
        for inside in _BUNDLED:
            where = os.path.join(path, inside)
            for name in os.listdir(where) if os.path.isdir(where) else ():
                if name.startswith("libgomp"):
                    names = os.path.join(folder, "lib")
                    os.mkdir(names)
                    os.symlink(os.path.join(where, name), os.path.join(names, _OPENMP))
                    return names
    return None
