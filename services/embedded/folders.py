"""Where embedded servers keep their things, and who may get there."""

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
from services.environment import Environment

SERVICE_UIDS = range(65_530, 65_519, -1)
"""Above the uids that distributions and systemd hand out and below the few that they reserve; below
65,536, the number of uids that a container's user namespace usually maps."""
FORMAT_FILE = "format"
FORMAT = "2"
"""Form of a state folder. Folders without the file have the first form."""
LONGEST_SOCKET_PATH = 100  # the kernel's limit is 107 bytes
START_SECONDS = 60.0


class EmbeddedError(Exception):
    """An embedded server cannot be found, started or kept."""


@dataclass(frozen=True)
class EmbeddedServer:
    """A server that runs as our child, and the address it answers at."""

    url: str
    child: Child

    def stop(self) -> None:
        """Stop in order; what was committed stays."""
        self.child.stop()


def service_uid() -> int | None:
    """The uid of the servers when we are root: no user of this machine has it. None when they run
    as our own uid."""
    if os.geteuid() != 0:
        return None
    for uid in SERVICE_UIDS:
        try:
            pwd.getpwuid(uid)
        except KeyError:
            return uid
    raise EmbeddedError(
        f"all uids from {SERVICE_UIDS[-1]} to {SERVICE_UIDS[0]} belong to users, and the servers"
        " need a free one; start this as an ordinary user"
    )


def named_uid() -> int:
    """A uid other than root's that has a name, because initdb requires a name."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("nobody").pw_uid
    for user in pwd.getpwall():
        if user.pw_uid != 0:
            return user.pw_uid
    raise EmbeddedError("this machine has no user but root, and initdb needs one: add nobody")


def is_reachable_for(path: Path, uid: int | None) -> bool:
    """Whether ``uid`` may walk to ``path`` and into it (always true for our own uid)."""
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


def state_folder(checkout: Path, chosen: Path | None = None) -> Path:
    """The folder that holds everything that must survive a restart; made when missing.

    ``chosen`` or PECK_STATE wins; else ``.state`` of the checkout when the servers' uid can get
    there, else a folder of ours under /var/tmp. Raises EmbeddedError when it is not safe to use.
    """
    if chosen is None and (named := Environment.read().state):
        chosen = Path(named)
    uid = service_uid()
    if chosen is not None:
        folder = chosen.absolute()
        if not is_reachable_for(folder, uid):
            raise EmbeddedError(
                f"--state {folder}: uid {uid}, as which Postgres runs, cannot walk to this folder; "
                "choose one whose parent folders are open to all (chmod o+x), such as /var/tmp/peck"
            )
    else:
        folder = checkout.resolve() / ".state"
        if not is_reachable_for(folder, uid):
            digest = hashlib.sha256(str(checkout.resolve()).encode()).hexdigest()[:12]
            folder = Path("/var/tmp") / f"pecking-order-{digest}"  # noqa: S108 - checked below
    folder.mkdir(mode=0o711 if uid is not None else 0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise EmbeddedError(
            f"{folder}: the state folder must belong to you and be writable by you alone; "
            "remove it or choose another with --state"
        )
    return folder


def write_format_mark(folder: Path) -> None:
    """Write the format of its contents into a new state folder.

    Raises as ``refuse_earlier_format``.
    """
    refuse_earlier_format(folder)
    if not (folder / FORMAT_FILE).exists():
        (folder / FORMAT_FILE).write_text(FORMAT + "\n")


def refuse_earlier_format(folder: Path) -> None:
    """Raises EmbeddedError for a state folder that an earlier version filled. Changes nothing."""
    mark = folder / FORMAT_FILE
    current = mark.is_file() and mark.read_text().strip() == FORMAT
    if not current and (mark.exists() or (folder / "postgres").exists()):
        raise EmbeddedError(
            f"{folder}: an earlier version of Pecking Order filled this folder, and its data is not"
            " carried over; choose another folder with --state, or remove this one"
        )


def private_folder(folder: Path, uid: int | None) -> Path:
    """``folder``, made when missing, that only its owner and root can enter."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    if uid is not None and folder.stat().st_uid != uid:
        change_owner(folder, uid)
    return folder


def change_owner(folder: Path, uid: int) -> None:
    """Give the folder and everything in it to this uid; the folder itself last, so that a repeat
    is safe. A link that the earlier owner placed there cannot lead out of the folder."""
    for _, folders, files, descriptor in os.fwalk(folder, topdown=False):
        for name in (*folders, *files):
            os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)
    os.chown(folder, uid, uid, follow_symlinks=False)


def socket_folder(state: Path, name: str, uid: int | None) -> Path:
    """A short private folder for sockets; elsewhere when the state folder's path is too long."""
    folder = state / "sockets" / name
    if len(str(folder)) > LONGEST_SOCKET_PATH - len("/.s.PGSQL.5432.lock"):
        digest = hashlib.sha256(str(state).encode()).hexdigest()[:12]
        folder = Path("/var/tmp") / f"peck-{digest}-{name}"  # noqa: S108 - checked below
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if folder.lstat().st_uid not in (os.geteuid(), uid) or folder.is_symlink():
            raise EmbeddedError(f"{folder} belongs to somebody else; choose a shorter --state")
    else:
        folder.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    return private_folder(folder, uid)


def wheel_folders(package: str) -> list[Path]:
    """Where a wheel lies, found without importing it: its wrapper is not used."""
    spec = importlib.util.find_spec(package)
    return [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []


def wait_for_previous_server(lock: Path, names: tuple[str, ...]) -> None:
    """Wait for a server that still stops; drop a pid file whose number another program now bears.

    Callers hold the state folder's lock, so nobody else starts a server on this data.
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
    raise EmbeddedError(f"a {names[0]} still runs on {lock.parent}; stop it first")
