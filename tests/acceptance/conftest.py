"""One instance for the tests that walk through its public API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stack import Stack, running


@pytest.fixture(scope="package")
def whole_instance() -> Iterator[Stack]:
    """A running instance without leagues, which all files of this folder share."""
    with running() as found:
        yield found


@pytest.fixture
def stack(whole_instance: Stack) -> Iterator[Stack]:
    """The instance; at the end of the test its leagues are closed, so that it stands still."""
    yield whole_instance
    admin = whole_instance.client(whole_instance.admin_token)
    for league in list(admin.list_items("/v1/leagues", limit=200)):
        admin.patch(f"/v1/leagues/{league['slug']}", {"state": "closed"})
