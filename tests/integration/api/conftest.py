"""The API over a real database and a real socket, with a small world in it.

The world is built once. A copy of its database is put back after each test. Blobs never change, so
tests share them.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI

from ladder.settings import Settings
from services.api_client import tls_context
from services.app import create_app
from tests.integration.api.serving import serve
from tests.integration.api.world import World, build
from tests.lent_databases import Lender
from tests.servers import cloned


def application(database_url: str, blobs_url: str, redis_url: str = "") -> FastAPI:
    """The application, not started."""
    return create_app(
        Settings(
            database_url=database_url,
            blobs_url=blobs_url,
            redis_url=redis_url,
            session_secret="x" * 32,
            sign_up="open",
        )
    )


@pytest.fixture(scope="session")
def blobs_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"file://{tmp_path_factory.mktemp('blobs')}"


@pytest.fixture(scope="session")
def built(postgres_url: str, migrated_template: str, blobs_url: str) -> Iterator[World]:
    """The world in a template database without connections."""
    with cloned(postgres_url, migrated_template) as url:
        with (
            serve(application(url, blobs_url)) as address,
            httpx.Client(base_url=address, timeout=60, verify=tls_context(address)) as client,
        ):
            made = build(client, url, blobs_url)
        yield made


@pytest.fixture
def app(lender: Lender, built: World, blobs_url: str) -> Iterator[FastAPI]:
    """The application on a database that holds the world alone, not started."""
    template = urlsplit(built.database_url).path.removeprefix("/")
    with lender.lent(template) as url:
        made = application(url, blobs_url)
        made.state.database_url = url
        yield made


@pytest.fixture
def http(app: FastAPI) -> Iterator[httpx.Client]:
    """A client of the running application.

    It follows no redirect, so that tests see each answer.
    """
    with (
        serve(app) as address,
        httpx.Client(base_url=address, timeout=60, verify=tls_context(address)) as client,
    ):
        yield client


@pytest.fixture
def world(app: FastAPI, http: httpx.Client, built: World) -> World:
    """People, two leagues, agents, and finished matches; see world.py."""
    return built.copied(http, app.state.database_url)
