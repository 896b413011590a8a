"""Fills the folders of a box: unpacks the bundle and gives each match its files.

The process that opens the archive is pre-forked, so nobody waits for its imports. It is hardened
before it reads a byte of the archive. It opens one archive and ends.

A match's *working folder* is the whole bundle, in a folder that the match may write. This is for
boxes in which every match has its own uid. Root owns the folders and sets the sticky bit: a match
can add files and remove only its own. Before each match the supervisor writes the first files
again, up to a limit, and gives them to the match's uid. A match can only read the rest, so a large
bundle slows no match.

Programs in a box also look for two names: the match's user and the OpenMP library.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import harden

UNPACK_SECONDS = 20.0
"""Time limit. Workers wait longer for a box, so a slow archive is refused and no host fault."""


class UnpackProcess:
    """The hardened, pre-forked process that opens the box's archive.

    Its imports take longer than the opening. Their memory is freed when it ends.
    """

    def __init__(self, setup: dict[str, Any], uid: int | None) -> None:
        self.archive = os.memfd_create("bundle", os.MFD_CLOEXEC)
        if uid is not None:
            os.chown(setup["agent_dir"], uid, uid)
        go_read, self._go = os.pipe()
        self._report, report = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _unpack_when_told(self.archive, go_read, report, setup, uid)
        os.close(go_read)
        os.close(report)

    def begin(self) -> None:
        try:
            os.write(self._go, b"1")
        except BrokenPipeError:
            pass  # it has ended already, so its report is empty

    def report(self) -> bytes | None:
        """Wait for its report. None if it took too long."""
        return _read_report(self._report, UNPACK_SECONDS)

    def end(self) -> int:
        """End the process if it still runs. Returns its exit code."""
        for fd in (self._go, self._report, self.archive):
            os.close(fd)
        os.kill(self._pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _unpack_when_told(
    archive: int, go: int, report: int, setup: dict[str, Any], uid: int | None
) -> None:
    try:
        # Import here: the archive libraries would stay in the supervisor's memory for life.
        from . import unpack
    except BaseException:
        os._exit(1)
    answer: dict[str, Any] = {"op": "fault", "reason": "the unpacker was not run"}
    try:
        null = os.open("/dev/null", os.O_RDWR)
        harden.keep_files([null, null, null, archive, report, go])
        report = 4
        os.umask(0o022)
        if setup["mode"] != "plain":
            harden.harden(uid, setup["unpack_limits"])
        if not os.read(5, 1):
            os._exit(0)
        with open(3, "rb") as file:
            folder = setup["agent_dir"]
            answer = {"op": "bound", **unpack.unpack(file, folder, int(setup["unpacked_bytes"]))}
    except unpack.ArchiveRefused as refused:
        answer = {"op": "refused", "entry": refused.entry, "reason": refused.reason}
    except BaseException as error:
        answer = {"op": "fault", "reason": f"unpacking failed: {error!r}"[:500]}
    finally:
        os.write(report, json.dumps(answer).encode())
        os._exit(0)


def _read_report(read_end: int, seconds: float) -> bytes | None:
    deadline = time.monotonic() + seconds
    data = b""
    poll = select.poll()
    poll.register(read_end, select.POLLIN)
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        chunk = os.read(read_end, 4096)
        data += chunk
        if not chunk or len(data) > 65536:
            return data[:65536]
    return None


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
