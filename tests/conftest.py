"""Real servers for the tests: those of PECK_TEST_*_URL, or embedded ones.

A test marked ``docker``, ``bubblewrap`` or ``browser`` is reported as not run if that is missing.
Under CI=true a missing sandbox or browser is a failure. A missing engine is a failure if
PECK_REQUIRE_DOCKER=1.
"""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from ladder.database import db
from services.run import embedded_servers, system_packages
from tests import processes, servers
from tests.lent_databases import Lender

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDERS_IN_ORDER = (
    "tests/integration/sandbox/",
    "tests/web/",
    "tests/acceptance/",
    "tests/chaos/",
    "tests/integration/",
    "tests/integration/ladder/",
)
"""Long groups of tests begin early and short ones end the run, so that both processes end together.
The first folder lasts until no interface changes any more.
"""
# Until pytest has found the tests: searching for garbage took a quarter of it.
gc.disable()
# A loaded machine answers late; httpx would give up after 5 s. Without a context of its own, each
# call would read the certificates again, in 30 to 50 ms of processor time.
_DEFAULTS = {"timeout": httpx.Timeout(60), "verify": httpx.create_ssl_context()}
for _call in (httpx.Client.__init__, httpx.get, httpx.post, httpx.request):
    _call.__kwdefaults__ = {**(_call.__kwdefaults__ or {}), **_DEFAULTS}


@cache
def no_engine() -> str | None:
    """The reason why no Docker engine is usable, or None."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5.0)
        if client.connect_ex(address.removeprefix("unix://")) != 0:
            return f"no Docker engine answers at {address}"
    return None


@cache
def no_bubblewrap() -> str | None:
    """The reason why bubblewrap is not usable, or None."""
    if not system_packages.is_installed("bubblewrap"):
        return "bubblewrap is missing; ./peck test installs it as root"
    command = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"bubblewrap does not work here: {tried.stderr}"


@cache
def no_browser() -> str | None:
    """The reason why no Chromium is usable, or None."""
    names = ("chromium-headless-shell", "chromium")
    found = any(system_packages.is_installed(name) for name in names)
    return None if found else "chromium is missing; ./peck test installs it as root"


NEEDS: dict[str, tuple[Callable[[], str | None], str]] = {
    "docker": (no_engine, "PECK_REQUIRE_DOCKER"),
    "bubblewrap": (no_bubblewrap, "CI"),
    "browser": (no_browser, "CI"),
}


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        config.pluginmanager.register(processes.Director())
        gc.enable()  # this process finds no tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by ``FOLDERS_IN_ORDER``, after those that change network interfaces.

    While interfaces change, a browser stops what it loads.
    """
    items.sort(
        key=lambda item: (
            item.get_closest_marker("network_interfaces") is None,
            folder_order(item.nodeid),
        )
    )


def folder_order(nodeid: str) -> int:
    """Returns when the tests of a folder begin; other folders come last."""
    folders = [folder for folder in FOLDERS_IN_ORDER if nodeid.startswith(folder)]
    if not folders:
        return len(FOLDERS_IN_ORDER)
    return FOLDERS_IN_ORDER.index(max(folders, key=len))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Modules and tests stay to the end, so the garbage collector need not look at them."""
    gc.freeze()
    gc.enable()
    if "hypothesis" not in sys.modules:  # its plugin would import it to print a summary
        session.config.pluginmanager.unregister(name="hypothesispytest")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (lacking, required_by) in NEEDS.items():
        if item.get_closest_marker(marker) is not None and (reason := lacking()) is not None:
            if os.environ.get(required_by) in ("1", "true"):
                pytest.fail(reason, pytrace=False)
            pytest.skip(f"not run: {reason}")


@pytest.fixture(scope="session")
def server_state() -> Iterator[Path]:
    """A folder with a short path, open to the servers' uid, removed after the session."""
    with servers.short_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a Postgres server, with a role that may create databases and roles."""
    try:
        with servers.postgres() as url:
            yield url
    except embedded_servers.EmbeddedError as error:
        pytest.fail(f"no Postgres for the tests: {error}; or set {servers.GIVEN}", False)


@pytest.fixture(scope="session")
def redis_url(server_state: Path) -> Iterator[str]:
    """The address of a Redis server that tests may empty; each process has its own."""
    given = os.environ.get("PECK_TEST_REDIS_URL")
    if given:
        yield given
        return
    try:
        server = embedded_servers.start_redis(server_state)
    except embedded_servers.EmbeddedError as error:
        pytest.fail(f"no Redis for the tests: {error}; or set PECK_TEST_REDIS_URL", False)
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def migrated_template(postgres_url: str) -> str:
    """The name of a database with all migrations applied, to be cloned."""
    name = servers.template(postgres_url)
    with servers.worker_role(postgres_url):
        return name


@pytest.fixture(scope="session")
def lender(postgres_url: str) -> Iterator[Lender]:
    """Lends databases to tests that take no new copy each; see lent_databases.py."""
    made = Lender(postgres_url)
    yield made
    made.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a process."""
    from tests.browsers import chromium  # only here: most tests need no browser

    with chromium() as started:
        yield started


@pytest.fixture
def database_url(postgres_url: str, migrated_template: str) -> Iterator[str]:
    """The address of a fresh, migrated database for one test."""
    with servers.cloned(postgres_url, migrated_template) as url:
        yield url


@pytest.fixture
def worker_role(postgres_url: str) -> Iterator[None]:
    """The exclusive right to change the workers' role, which belongs to the whole server."""
    with servers.worker_role(postgres_url):
        yield


@pytest.fixture
def worker_database_url(postgres_url: str, database_url: str) -> Iterator[str]:
    """The address of the same database with the workers' role, which may only lease."""
    with servers.worker_login(postgres_url):
        yield servers.with_login(database_url, db.WORKER_ROLE, servers.WORKER_PASSWORD)


@pytest.fixture
def notifier_database_url(postgres_url: str, database_url: str) -> Iterator[str]:
    """The address of the same database with the notifier's role, which may only send notices."""
    with servers.worker_login(postgres_url):
        yield servers.with_login(database_url, db.NOTIFIER_ROLE, servers.NOTIFIER_PASSWORD)
