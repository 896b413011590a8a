"""Several test processes (``pytest -n 2``): one shared Postgres, and the split of the tests.

Register ``Director`` in the process in which pytest-xdist directs the others.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests import servers

LAUNCHER = re.compile(r"^(tests/integration/sandbox)/.*\[(docker|bubblewrap)\b")
SITE = "tests/web/"
INSTANCE = "tests/acceptance/"
OTHER_INSTANCE = "tests/acceptance/test_compose.py"
FLEET = "tests/chaos/"


class ByFile(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Keeps a file's tests in one process, and all sandbox tests of one launcher, the site's, and
    those of a whole instance or a fleet.

    They share a node, a site or an instance, so that each process need not make its own.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(SITE):
            return SITE
        if nodeid.startswith(INSTANCE) and not nodeid.startswith(OTHER_INSTANCE):
            return INSTANCE
        if nodeid.startswith(FLEET):
            return FLEET
        shared = LAUNCHER.match(nodeid)
        return " ".join(shared.groups()) if shared else nodeid.partition("::")[0]


class Director:
    """Starts Postgres before the first process and stops it after the last."""

    def __init__(self) -> None:
        self.stack = ExitStack()

    def pytest_configure_node(self) -> None:
        if servers.GIVEN not in os.environ:
            os.environ[servers.GIVEN] = self.stack.enter_context(servers.postgres())

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> ByFile:
        config.option.loadscopereorder = False  # keeps the order of folders of the command line
        return ByFile(config, log)

    def pytest_unconfigure(self) -> None:
        self.stack.close()
