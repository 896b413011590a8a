"""The API over a real database and a real socket, and a small world in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from ladder.settings import Settings
from services.api.app import create_app
from tests.integration.api.serving import serve
from tests.integration.api.world import World, build


@pytest.fixture
def app(database_url: str, tmp_path: Path) -> FastAPI:
    """The application, not started."""
    blobs = f"file://{tmp_path / 'blobs'}"
    return create_app(Settings(database_url=database_url, blobs_url=blobs, session_secret="x" * 32))


@pytest.fixture
def http(app: FastAPI) -> Iterator[httpx.Client]:
    """The running application. Follows no redirect, so that each answer is seen as it is."""
    with serve(app) as address, httpx.Client(base_url=address, timeout=30) as client:
        yield client


@pytest.fixture
def world(http: httpx.Client, database_url: str, tmp_path: Path) -> World:
    """People, two leagues, agents, and finished matches; see world.py."""
    return build(http, database_url, f"file://{tmp_path / 'blobs'}")
