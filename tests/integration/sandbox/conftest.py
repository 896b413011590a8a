"""The launchers under test: each test of the contract runs on every available one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import docker.errors
import pytest

from tests.integration.sandbox.hostile_table import BY_NAME, SAME_IN_EVERY_LAUNCHER
from tests.integration.sandbox.nodes import Bench, start_node

EVERY_LAUNCHER = "PECK_TEST_EVERY_LAUNCHER"
"""``scripts/drill hostile-agents`` sets it to 1: all agents and archives in all launchers."""

ISOLATING = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
]


def runs_once(item: pytest.Function) -> bool:
    """Whether the tested code is the same in every launcher, so that one launcher suffices."""
    if item.get_closest_marker("same_in_every_launcher") is not None:
        return True
    agent = str(item.callspec.params.get("agent"))
    return agent in BY_NAME and BY_NAME[agent].row in SAME_IN_EVERY_LAUNCHER


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the Docker form of such tests to the drill."""
    if os.environ.get(EVERY_LAUNCHER) == "1" or missing("bubblewrap"):
        return
    left = {
        item
        for item in items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
        if "docker" in item.callspec.params.values() and runs_once(item)
    }
    if left:
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]


def missing(launcher: str) -> str | None:
    """The reason why this launcher cannot be tested here, or None."""
    if launcher == "bubblewrap":
        return None if shutil.which("bwrap") else "bubblewrap is not installed"
    if launcher == "docker":
        # A refused client leaves its socket to the garbage collector, which warns.
        socket = Path("/var/run/docker.sock")
        if "DOCKER_HOST" not in os.environ and not os.access(socket, os.R_OK | os.W_OK):
            return f"no Docker engine answers: {socket} is not there or not for this user"
        try:
            client = docker.from_env(timeout=60)
            client.ping()
            client.close()
        except (docker.errors.DockerException, OSError) as error:
            return f"no Docker engine answers: {error}"
    return None


def require(launcher: str) -> None:
    """Skip with the reason if the launcher is missing; under CI that is a failure."""
    reason = missing(launcher)
    if reason is None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; in CI every launcher must be there", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Callable[[], Path]]:
    """Makes folders with short paths for sockets; removed after the session."""
    made = []

    def make() -> Path:
        made.append(Path(tempfile.mkdtemp(prefix="peck-", dir="/var/tmp")))
        return made[-1]

    yield make
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session", params=ISOLATING)
def bench(request: pytest.FixtureRequest, short_folder: Callable[[], Path]) -> Iterator[Bench]:
    """A node of each isolating launcher, shared by the session's tests."""
    launcher: str = request.param
    require(launcher)
    folder = short_folder()
    # By name: a machine may have larger profiles, which other tests do not need.
    named = ("--profile", "numpy", "--profile", "python")
    node = start_node(folder, launcher, "--warm", "1", "--keep", "8", *named)
    yield Bench(node, launcher, folder)
    assert node.stop() == 0, node.log.read_text()
