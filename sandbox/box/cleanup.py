"""Cleans up after a match: kills its uid's processes, deletes its files and checks both.

The killer has the match's uid only as effective uid, so no process of the match can signal it.
``kill(-1)`` is one pass under the kernel's task-list lock, so forks cannot outrun it. The deletion
does not recurse and counts entries. A tree that is too deep or too large stays, and the box is
thrown away.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Mapping

MOST_ENTRIES = 20_000
MOST_SECONDS = 3.0
_OOM_FILES = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"]


def kill_and_wipe(
    uid: int, sweeper_uid: int, folders: list[str], kept: Mapping[str, bool] | None = None
) -> bool:
    """Kill everything of ``uid`` and empty the folders. Returns True if nothing failed.

    Paths in ``kept`` stay; the values say which are folders. Needs the right to change uids. The
    caller checks with ``leftover_processes`` and ``are_empty``.
    """
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(sweeper_uid, uid, sweeper_uid)
            for _ in range(3):
                try:
                    os.kill(-1, signal.SIGKILL)
                except ProcessLookupError:
                    break
            if all([wipe_folder(folder, kept or {}) for folder in folders]):
                code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def leftover_processes(base: set[int], seconds: float) -> list[int]:
    """The pids in /proc beyond the base. Waits until there are none or time is up."""
    deadline = time.monotonic() + seconds
    while True:
        left = sorted({int(name) for name in os.listdir("/proc") if name.isdigit()} - base)
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(0.0005)


def world_writable(folder: str) -> list[str]:
    """The entries of the folder that everybody may write, and whose times everybody may change."""
    with os.scandir(folder) as entries:
        return [entry.path for entry in entries if _is_world_writable(entry)]


def reset_times(paths: list[str]) -> None:
    """Reset the times of the box's own files, so that they tell nothing about their users.

    Removes files from the list that are mounted read-only, because nobody can change them.
    """
    for path in tuple(paths):
        try:
            os.utime(path, (0, 0))
        except OSError as error:
            if error.errno == errno.EROFS:
                paths.remove(path)


def wipe_folder(folder: str, kept: Mapping[str, bool]) -> bool:
    """Empty the folder without following links. Returns False if it is too much or refused.

    Paths in ``kept`` stay, unless a file became a folder or a folder a file.
    """
    count, most = 0, MOST_ENTRIES + len(kept)  # a bundle of the permitted size fits as well
    deadline = time.monotonic() + MOST_SECONDS
    complete = True
    pending = [folder]
    made_empty: list[str] = []
    while pending:
        here = pending.pop()
        try:
            entries = list(_list_entries(here, most - count))
        except OSError:
            complete = False
            continue
        if here != folder and not kept.get(here):
            made_empty.append(here)
        for path, is_folder in entries:
            count += 1
            if count >= most or time.monotonic() > deadline:
                return False
            if is_folder:
                pending.append(path)
                continue
            if kept.get(path) is False:
                continue
            try:
                os.unlink(path)
            except OSError:
                complete = False
    for path in reversed(made_empty):
        try:
            os.rmdir(path)
        except OSError:
            complete = False
    return complete


def oom_kills() -> int:
    """How often the kernel has killed for memory in this box, as seen from inside."""
    for path in tuple(_OOM_FILES):
        try:
            text = _read_small_file(path)
        except FileNotFoundError:
            _OOM_FILES.remove(path)  # mounted before this process began
            continue
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
    return 0


def are_empty(folders: list[str]) -> bool:
    return all(not os.listdir(folder) for folder in folders)


def _is_world_writable(entry: os.DirEntry[str]) -> bool:
    return not entry.is_symlink() and bool(entry.stat(follow_symlinks=False).st_mode & 0o002)


def _list_entries(folder: str, at_most: int) -> list[tuple[str, bool]]:
    # An agent may have removed its own rights to its folders.
    try:
        os.chmod(folder, 0o700)
    except OSError:
        pass
    listed = []
    with os.scandir(folder) as entries:
        for entry in entries:
            listed.append((entry.path, entry.is_dir(follow_symlinks=False)))
            if len(listed) > at_most:
                break
    return listed


def _read_small_file(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)
