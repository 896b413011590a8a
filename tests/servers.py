"""One Postgres server for a whole run, and a separate database for each test that needs one.

All processes of a run (``pytest -n 2``) share the server. A template database holds the schema. Its
name is the digest of the SQL files. The data of a new server with this template stays in
``.pytest_cache`` between runs: to copy it takes a tenth of the time in which a server is made.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from ladder.database import db, migrate
from services.run import embedded_servers
from services.run.embedded_servers import postgres_candidates

GIVEN: Final = "PECK_TEST_DATABASE_URL"
PREPARED: Final = Path(__file__).parents[1] / ".pytest_cache" / "postgres"
MEMORY: Final = "/dev/shm"
MEMORY_BYTES: Final = 3 << 30
TEMPLATE_LOCK: Final = 0x74657374
ROLE_LOCK: Final = 0x726F6C65
WORKER_PASSWORD: Final = "worker-of-the-tests"
NOTIFIER_PASSWORD: Final = "notifier-of-the-tests"


def fast_place() -> str:
    """The folder for a server's files: in memory if there is room and programs may run there."""
    with contextlib.suppress(OSError):
        found = os.statvfs(MEMORY)
        usable = os.access(MEMORY, os.W_OK | os.X_OK) and not found.f_flag & os.ST_NOEXEC
        if usable and found.f_bavail * found.f_frsize >= MEMORY_BYTES:
            return MEMORY
    return "/var/tmp"


@contextmanager
def short_folder(place: str | None = None) -> Iterator[Path]:
    """A folder with a short path that the servers' user can reach; removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="peck-test-", dir=place or fast_place()))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres(place: str | None = None) -> Iterator[str]:
    """The address of a Postgres server, with a role that may create databases and roles.

    ``place`` is the folder for its files, by default ``fast_place``.
    """
    given = os.environ.get(GIVEN)
    if given:
        yield given
        return
    with short_folder(place) as folder:
        copy_prepared(folder)
        server = embedded_servers.start_postgres(folder, durable=False)
        try:
            yield server.url
        finally:
            server.stop()


def copy_prepared(folder: Path) -> None:
    """Fill the folder with the data of a server that holds the template, made if necessary."""
    PREPARED.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = PREPARED / prepared_name()
    with (PREPARED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if not wanted.exists():
            fcntl.flock(lock, fcntl.LOCK_EX)
            prepare(wanted)
        copy_data(wanted, folder)


def prepare(wanted: Path) -> None:
    """Keep the data of a new server with the template, and no others. The caller holds the lock."""
    if wanted.exists():  # another process made it while this one waited for the lock
        return
    with short_folder() as folder:
        server = embedded_servers.start_postgres(folder, durable=False)
        try:
            template(server.url)
        finally:
            server.stop()
        for other in PREPARED.iterdir():
            if other.is_dir():
                shutil.rmtree(other)
        made = PREPARED / "new"
        made.mkdir(mode=0o700)
        copy_data(folder, made)
        made.rename(wanted)


def copy_data(source: Path, target: Path) -> None:
    """Copy the files of a stopped server with their owners, who differ if root runs the tests."""
    parts = [str(source / name) for name in ("postgres", "passwords")]
    subprocess.run(["cp", "-a", *parts, str(target)], check=True)


def prepared_name() -> str:
    """A name that changes with the template, the Postgres installations and what starts them."""
    programs = [folder / "postgres" for folder in postgres_candidates()]
    marks = [(str(one), one.stat().st_mtime_ns) for one in programs if one.exists()]
    starter = Path(embedded_servers.__file__).read_bytes()
    return hashlib.sha256(repr((template_name(), marks, starter)).encode()).hexdigest()[:12]


def template_name() -> str:
    """The template's name: it changes with the SQL files and with the month's partitions."""
    schema = hashlib.sha256(repr((migrate.migration_files(), migrate.function_files())).encode())
    schema.update(f"{datetime.now(UTC):%Y-%m}".encode())
    return f"peck_template_{schema.hexdigest()[:12]}"


def template(url: str) -> str:
    """The name of a database with all migrations applied; the first caller makes it."""
    name = template_name()
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("select pg_advisory_lock(%s)", (TEMPLATE_LOCK,))
        found = conn.execute("select 1 from pg_database where datname = %s", (name,)).fetchone()
        if found is None:
            with cloned(url, "template1") as fresh:
                migrate.migrate(fresh)
                conn.execute(
                    sql.SQL("alter database {} rename to {}").format(
                        sql.Identifier(urlsplit(fresh).path[1:]), sql.Identifier(name)
                    )
                )
    return name


@contextmanager
def cloned(server_url: str, source: str) -> Iterator[str]:
    """The address of a database copied from ``source``, dropped at the end."""
    name = f"peck_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_url, autocommit=True) as conn:
        # A copy of files is much faster than a copy by the write-ahead log.
        conn.execute(
            sql.SQL("create database {} template {} strategy file_copy").format(
                sql.Identifier(name), sql.Identifier(source)
            )
        )
        try:
            yield with_database(server_url, name)
        finally:
            conn.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            )


def with_database(url: str, name: str) -> str:
    """The address of another database on the same server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def without_login(database_url: str) -> str:
    """The address of the same database, for logins that are added later."""
    parts = urlsplit(database_url)
    kept = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name == "host"])
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}?{kept}"


def with_login(database_url: str, role: str, password: str) -> str:
    """The address of the same database with another role."""
    parts = urlsplit(database_url)
    place = f"{role}:{password}@{parts.netloc.rpartition('@')[2]}"
    return urlunsplit(parts._replace(netloc=place))


@contextmanager
def worker_role(url: str) -> Iterator[None]:
    """The exclusive right to change the workers' role, which all databases of the server share."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("select pg_advisory_lock(%s)", (ROLE_LOCK,))
        try:
            yield
        finally:
            db.set_worker_login(conn, WORKER_PASSWORD)
            db.set_login(conn, db.NOTIFIER_ROLE, NOTIFIER_PASSWORD)


@contextmanager
def worker_login(url: str) -> Iterator[None]:
    """Inside this block the workers' role logs in with WORKER_PASSWORD."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("select pg_advisory_lock_shared(%s)", (ROLE_LOCK,))
        yield
