"""Folders and permissions of embedded servers."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import pwd
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from services.child_processes import Child
from services.environment_variables import Environment

SERVICE_UIDS = range(65_530, 65_519, -1)
"""Unused uids: above those of distributions and systemd, below their few reserved ones. Below
65,536, because a container's user namespace usually maps so many uids."""
FORMAT_FILE = "format"
FORMAT = "3"
"""Format of a state folder. A folder without the format file has format 1."""
LONGEST_SOCKET_PATH = 100  # the kernel's limit is 107 bytes
START_SECONDS = 60.0


class EmbeddedError(Exception):
    """An embedded server is missing, or does not start."""


@dataclass(frozen=True)
class EmbeddedServer:
    """A server that runs as a child process, and its address."""

    url: str
    child: Child

    def stop(self) -> None:
        """Stops the server in order. Committed data stays."""
        self.child.stop()


def service_uid() -> int | None:
    """The uid for the servers if we are root: a uid without a user. None if they run as our uid."""
    if os.geteuid() != 0:
        return None
    for uid in SERVICE_UIDS:
        try:
            pwd.getpwuid(uid)
        except KeyError:
            return uid
    raise EmbeddedError(
        "start this as an ordinary user: the servers need a free uid, but all from "
        f"{SERVICE_UIDS[-1]} to {SERVICE_UIDS[0]} belong to users"
    )


def named_uid() -> int:
    """A uid with a name, other than root's, because initdb requires a name."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("nobody").pw_uid
    for user in pwd.getpwall():
        if user.pw_uid != 0:
            return user.pw_uid
    raise EmbeddedError("add the user nobody: initdb needs a user other than root")


def is_reachable_for(path: Path, uid: int | None) -> bool:
    """Whether ``uid`` can reach ``path`` and enter it. Always true for our own uid."""
    if uid is None:
        return True
    resolved = path.resolve()
    for folder in (resolved, *resolved.parents, *path.absolute().parents):
        with contextlib.suppress(FileNotFoundError):
            status = folder.stat()
            bit = stat.S_IXUSR if status.st_uid == uid else stat.S_IXOTH
            if not status.st_mode & bit:
                return False
    return True


def locate_state_folder(checkout: Path, chosen: Path | None = None) -> Path:
    """The path of the folder for all data of an instance. Changes nothing.

    Takes ``chosen`` or PECK_STATE first. Then takes ``.state`` of the checkout if the servers' uid
    can reach it, else a folder under /var/tmp. Raises EmbeddedError for an unreachable choice.
    """
    if chosen is None and (named := Environment.read().state):
        chosen = Path(named)
    uid = service_uid()
    if chosen is not None:
        folder = chosen.absolute()
        if not is_reachable_for(folder, uid):
            raise EmbeddedError(
                f"--state {folder}: choose a folder whose parent folders are open to "
                f"all (chmod o+x), such as /var/tmp/peck; Postgres runs as uid {uid}, "
                "which cannot reach this one"
            )
        return folder
    folder = checkout.resolve() / ".state"
    if not is_reachable_for(folder, uid):
        digest = hashlib.sha256(str(checkout.resolve()).encode()).hexdigest()[:12]
        folder = Path("/var/tmp") / f"pecking-order-{digest}"  # noqa: S108 - the caller checks it
    return folder


def state_folder(checkout: Path, chosen: Path | None = None) -> Path:
    """The folder of ``locate_state_folder``, created if missing.

    Raises EmbeddedError if it is not safe to use.
    """
    folder = locate_state_folder(checkout, chosen)
    mode = 0o711 if service_uid() is not None else 0o700
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise EmbeddedError(
            f"remove {folder}, or choose another with --state: the state folder must "
            "belong to you, and only you may write to it"
        )
    return folder


def write_format_mark(folder: Path) -> None:
    """Writes the format into a new state folder.

    Raises as ``refuse_earlier_format``.
    """
    refuse_earlier_format(folder)
    if not (folder / FORMAT_FILE).exists():
        (folder / FORMAT_FILE).write_text(FORMAT + "\n")


def refuse_earlier_format(folder: Path) -> None:
    """Raises EmbeddedError for a state folder of an earlier version. Changes nothing."""
    mark = folder / FORMAT_FILE
    current = mark.is_file() and mark.read_text().strip() == FORMAT
    if not current and (mark.exists() or (folder / "postgres").exists()):
        raise EmbeddedError(
            f"choose another folder with --state, or remove {folder}: an earlier "
            "version of Pecking Order filled it, and this version cannot read its data"
        )


def private_folder(folder: Path, uid: int | None) -> Path:
    """Returns ``folder``, created if missing. Only its owner and root can enter it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    if uid is not None and folder.stat().st_uid != uid:
        change_owner(folder, uid)
    return folder


def change_owner(folder: Path, uid: int) -> None:
    """Gives the folder and its content to this uid, the folder last, so that a repeat is safe. Does
    not follow links of the earlier owner."""
    for _, folders, files, descriptor in os.fwalk(folder, topdown=False):
        for name in (*folders, *files):
            os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)
    os.chown(folder, uid, uid, follow_symlinks=False)


def socket_folder(state: Path, name: str, uid: int | None) -> Path:
    """A private folder for sockets with a short path. Outside the state folder if that path is too
    long."""
    folder = state / "sockets" / name
    if len(str(folder)) > LONGEST_SOCKET_PATH - len("/.s.PGSQL.5432.lock"):
        digest = hashlib.sha256(str(state).encode()).hexdigest()[:12]
        folder = Path("/var/tmp") / f"peck-{digest}-{name}"  # noqa: S108 - checked below
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if folder.lstat().st_uid not in (os.geteuid(), uid) or folder.is_symlink():
            raise EmbeddedError(f"choose a shorter --state: {folder} belongs to another user")
    else:
        folder.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    return private_folder(folder, uid)


def wheel_folders(package: str) -> list[Path]:
    """The folders of a wheel, found without importing it, because its wrapper is unused."""
    spec = importlib.util.find_spec(package)
    return [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []


def wait_for_previous_server(lock: Path, names: tuple[str, ...]) -> None:
    """Waits for an earlier server that is stopping. Deletes the pid file if another program has its
    number now.

    The caller holds the state folder's lock, so nobody else starts a server on this data.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            pid = int(lock.read_text().splitlines()[0])
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            at_home = Path(f"/proc/{pid}/cwd").resolve() == lock.parent.resolve()
        except (OSError, ValueError, IndexError):
            return
        if name not in names or not at_home:
            lock.unlink(missing_ok=True)
            return
        time.sleep(0.05)
    raise EmbeddedError(f"stop the {names[0]} that still runs on {lock.parent}")
