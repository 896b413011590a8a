"""Real servers for the tests: those of PECK_TEST_*_URL, else embedded ones of our own.

A test marked ``docker``, ``bubblewrap`` or ``browser`` is reported as not run where that is
missing. Under CI=true a missing sandbox or browser fails instead, and so does an engine where
PECK_REQUIRE_DOCKER=1 says that there is one.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import hypothesis
import psycopg
import pytest
from psycopg import sql

from ladder.store import db
from services import embedded, packages

WORKER_ROLE = "peck_worker"
# How long an example takes is the machine's affair; nothing here asserts a time.
hypothesis.settings.register_profile("peck", deadline=None)
hypothesis.settings.load_profile("peck")


@cache
def no_engine() -> str | None:
    """Why no Docker engine can be used, or None."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5.0)
        if client.connect_ex(address.removeprefix("unix://")) != 0:
            return f"no Docker engine answers at {address}"
    return None


@cache
def no_bubblewrap() -> str | None:
    """Why bubblewrap cannot be used, or None."""
    if not packages.here("bubblewrap"):
        return "bubblewrap is missing; ./peck test installs it as root"
    command = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"bubblewrap does not work here: {tried.stderr}"


@cache
def no_browser() -> str | None:
    """Why no Chromium can be used, or None."""
    found = packages.here("chromium")
    return None if found else "chromium is missing; ./peck test installs it as root"


NEEDS: dict[str, tuple[Callable[[], str | None], str]] = {
    "docker": (no_engine, "PECK_REQUIRE_DOCKER"),
    "bubblewrap": (no_bubblewrap, "CI"),
    "browser": (no_browser, "CI"),
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (lacking, required_by) in NEEDS.items():
        if item.get_closest_marker(marker) is not None and (reason := lacking()) is not None:
            if os.environ.get(required_by) in ("1", "true"):
                pytest.fail(reason, pytrace=False)
            pytest.skip(f"not run: {reason}")


@pytest.fixture(scope="session")
def server_state() -> Iterator[Path]:
    """A short folder, open to the servers' uid, that goes with the session."""
    folder = Path(tempfile.mkdtemp(prefix="peck-test-", dir="/var/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url(server_state: Path) -> Iterator[str]:
    """The address of a Postgres server as a role that may create databases and roles."""
    given = os.environ.get("PECK_TEST_DATABASE_URL")
    if given:
        yield given
        return
    try:
        server = embedded.start_postgres(server_state, durable=False)
    except embedded.EmbeddedError as error:
        pytest.fail(f"no Postgres for the tests: {error}; or set PECK_TEST_DATABASE_URL", False)
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def redis_url(server_state: Path) -> Iterator[str]:
    """The address of a Redis server that tests may empty."""
    given = os.environ.get("PECK_TEST_REDIS_URL")
    if given:
        yield given
        return
    try:
        server = embedded.start_redis(server_state)
    except embedded.EmbeddedError as error:
        pytest.fail(f"no Redis for the tests: {error}; or set PECK_TEST_REDIS_URL", False)
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def migrated_template(postgres_url: str) -> Iterator[str]:
    """The name of a database with all migrations applied, to be cloned."""
    name = f"peck_template_{uuid.uuid4().hex[:12]}"
    _create(postgres_url, name)
    db.migrate(with_database(postgres_url, name))
    yield name
    _drop(postgres_url, name)


@pytest.fixture
def database_url(postgres_url: str, migrated_template: str) -> Iterator[str]:
    """The address of a fresh, migrated database that is the test's alone."""
    name = f"peck_{uuid.uuid4().hex[:12]}"
    _create(postgres_url, name, template=migrated_template)
    yield with_database(postgres_url, name)
    _drop(postgres_url, name)


@pytest.fixture
def worker_database_url(postgres_url: str, database_url: str) -> str:
    """The same database as the role that may only lease."""
    parts = urlsplit(database_url)
    password = "worker-of-the-tests"
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        db.set_worker_login(conn, password)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{WORKER_ROLE}:{password}@{place}"))


def with_database(url: str, name: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _create(url: str, name: str, template: str = "template1") -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )


def _drop(url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(
            sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
        )
