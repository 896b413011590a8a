"""A match's working folder: the whole bundle, in a folder that the match may write.

This is for boxes in which every match has its own uid. Root owns the folders and sets the sticky
bit: a match can add files and remove only its own. Before each match the supervisor writes the
first files again, up to a limit, and gives them to the match's uid. A match can only read the rest,
so a large bundle slows no match.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

COPIED_BYTES = 4 << 20
COPIED_FILES = 100
"""Limits of the files that belong to a match: upper folders first, small files before large."""
_UNTOUCHED = (0, 0)
"""Times of an unchanged folder. Only its owner can set them. A match can only set the times of
root's folder to the present.
"""


class _BundleFile(NamedTuple):
    """A file of the bundle. No dataclass: the modules behind that would stay in every box."""

    path: str
    mode: int
    content: bytes


class WorkingFolder:
    """One bundle's folder over all matches of a box. Both owner and caller are root."""

    def __init__(self, folder: str) -> None:
        """Take over the unpacked bundle. Raises OSError if an entry is no file and no folder."""
        self.paths: dict[str, bool] = {}
        """Every path of the bundle, and whether it is a folder."""
        self._inside: dict[str, dict[str, bool]] = {}
        self._copies: list[_BundleFile] = []
        found: list[tuple[int, int, str]] = []
        pending = [(0, folder)]
        while pending:
            depth, here = pending.pop()
            os.chown(here, 0, 0)
            os.chmod(here, 0o1777)  # noqa: S103  a match's uid is the only other one in the box
            inside: dict[str, bool] = {}
            with os.scandir(here) as entries:
                for entry in entries:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder:
                        pending.append((depth + 1, entry.path))
                    elif entry.is_file(follow_symlinks=False):
                        size = entry.stat(follow_symlinks=False).st_size
                        found.append((depth, size, entry.path))
                    else:
                        raise OSError(f"{entry.name!r} is neither a file nor a folder")
                    inside[entry.name] = self.paths[entry.path] = is_folder
            self._inside[here] = inside
        left = COPIED_BYTES
        for _, size, path in sorted(found):
            if size <= left and len(self._copies) < COPIED_FILES:
                self._copies.append(_read_bundle_file(path))
                left -= size

    def restore_files(self, uid: int) -> None:
        """Write the files again for the next match, which has this uid. Needs a clean folder."""
        for copy in self._copies:
            try:
                os.unlink(copy.path)
            except FileNotFoundError:
                pass  # the last match removed it
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(copy.path, flags, copy.mode)
            try:
                view = memoryview(copy.content)
                while view:
                    view = view[os.write(fd, view) :]
                os.fchown(fd, uid, uid)
            finally:
                os.close(fd)
        for here in self._inside:
            os.utime(here, _UNTOUCHED)

    def is_clean(self) -> bool:
        """Whether the folder holds nothing beyond the bundle.

        Files of the bundle may be changed or missing; ``give`` repairs that.
        """
        return not any(
            _has_unknown_entries(here, inside)
            for here, inside in self._inside.items()
            if os.stat(here).st_mtime_ns  # an added or removed entry changes it
        )


def _has_unknown_entries(here: str, inside: Mapping[str, bool]) -> bool:
    with os.scandir(here) as entries:
        return any(
            inside.get(entry.name) is not entry.is_dir(follow_symlinks=False) for entry in entries
        )


def _read_bundle_file(path: str) -> _BundleFile:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        runs = os.fstat(fd).st_mode & 0o100
        return _BundleFile(path, 0o755 if runs else 0o644, file.read(COPIED_BYTES))
