"""After a match: everything its uid runs is killed, everything it wrote is wiped, both are proven.

The killer runs with the match's uid as effective uid only; its real and saved uid are another, so
that nothing of the match can signal it. ``kill(-1)`` is one pass under the kernel's task-list lock:
forks cannot outrun it. The wipe goes without recursion and under a count: a tree too deep or too
large is left as it is, and the box is thrown away.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping

MOST_ENTRIES = 20_000
MOST_SECONDS = 3.0


def kill_and_wipe(
    uid: int, sweeper_uid: int, folders: list[str], kept: Mapping[str, bool] | None = None
) -> bool:
    """Kill everything of ``uid`` and empty the folders of its files; True when nothing failed.
    Paths in ``kept`` stay; its values say which of them are folders.

    Needs the right to change uids. What it leaves is for :func:`leftover_processes` and
    ``are_empty`` to find.
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
    """The pids in /proc that are not of the base, once they are none or time is up."""
    deadline = time.monotonic() + seconds
    while True:
        left = sorted({int(name) for name in os.listdir("/proc") if name.isdigit()} - base)
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(0.0005)


def world_writable(folder: str) -> list[str]:
    """What lies in the folder that everybody may write, and may so give another time of change."""
    with os.scandir(folder) as entries:
        return [entry.path for entry in entries if _is_world_writable(entry)]


def reset_times(paths: list[str]) -> None:
    """The times of these tell nothing of who used them, where they are the box's own."""
    for path in paths:
        try:
            os.utime(path, (0, 0))
        except OSError:
            pass  # mounted read-only: then nobody else could change them either


def wipe_folder(folder: str, kept: Mapping[str, bool]) -> bool:
    """Empty the folder without following links; False when that is too much or is refused. Paths in
    ``kept`` stay, unless a file has become a folder or a folder a file."""
    count, most = 0, MOST_ENTRIES + len(kept)  # a bundle of the permitted size fits beside the rest
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


def are_empty(folders: list[str]) -> bool:
    """True when nothing lies in any of the folders."""
    return all(not os.listdir(folder) for folder in folders)


def _is_world_writable(entry: os.DirEntry[str]) -> bool:
    return not entry.is_symlink() and bool(entry.stat(follow_symlinks=False).st_mode & 0o002)


def _list_entries(folder: str, at_most: int) -> list[tuple[str, bool]]:
    # An agent may have taken its own rights away from its folders.
    try:
        os.chmod(folder, 0o700)
    except OSError:
        pass
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            found.append((entry.path, entry.is_dir(follow_symlinks=False)))
            if len(found) > at_most:
                break
    return found
