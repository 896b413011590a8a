"""A node that the tests of a process share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration import real_node
from tests.integration.real_node import RealNode


@pytest.fixture(scope="session")
def node() -> Iterator[RealNode]:
    """A bubblewrap node with the profile python. A test that kills a node starts its own."""
    real_node.require("bubblewrap")
    with real_node.running("bubblewrap") as running:
        yield running
