"""One served world for all tests of a file, and a new one for those that others would notice.

A file that imports ``world`` (and ``http``) from here shares them. Its tests read, or they add what
no other test of the file counts. A test that changes more takes ``fresh_world``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI

from services.api_client import tls_context
from tests.integration.api.conftest import application
from tests.integration.api.serving import serve
from tests.integration.api.world import World
from tests.servers import cloned


@contextmanager
def served(app: FastAPI, built: World, database_url: str) -> Iterator[World]:
    """The world, served by this application on a copy of its database."""
    with (
        serve(app) as address,
        httpx.Client(base_url=address, timeout=60, verify=tls_context(address)) as client,
    ):
        yield built.copied(client, database_url)


@contextmanager
def copied(built: World, postgres_url: str, blobs_url: str) -> Iterator[World]:
    """A served copy of the world."""
    template = urlsplit(built.database_url).path.removeprefix("/")
    with (
        cloned(postgres_url, template) as url,
        served(application(url, blobs_url), built, url) as world,
    ):
        yield world


@pytest.fixture(scope="module")
def world(built: World, postgres_url: str, blobs_url: str) -> Iterator[World]:
    """The world that the tests of a file share."""
    with copied(built, postgres_url, blobs_url) as found:
        yield found


@pytest.fixture(scope="module")
def http(world: World) -> httpx.Client:
    return world.http


@pytest.fixture
def fresh_world(app: FastAPI, built: World) -> Iterator[World]:
    """The world as it was built, for one test."""
    with served(app, built, app.state.database_url) as found:
        yield found
