"""A site with identity providers: one that is not ours, and one that lies."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI

from ladder.database import db
from ladder.settings import Settings
from services.app import create_app
from tests.integration.api.lying_provider import LyingProvider, lying_provider
from tests.integration.api.serving import serve
from tests.ports import free_port
from tests.servers import cloned

CLIENT = {"client_id": "peck", "client_secret": "hush", "networks": ["127.0.0.0/8"]}


@pytest.fixture(scope="module")
def liar() -> Iterator[LyingProvider]:
    with lying_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def honest() -> Iterator[str]:
    """The issuer of `oidc-provider-mock`, in a process of its own."""
    port = free_port()
    claims = {"sub": "ada-1", "email": "ada@example.edu", "email_verified": True, "name": "Ada"}
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    command += ["--require-nonce", "true", "--user-claims", json.dumps(claims)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 180
        while time.monotonic() < until:
            assert server.poll() is None, "the provider ended"
            try:
                httpx.get(f"{address}/.well-known/openid-configuration")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield address
    finally:
        server.terminate()
        server.wait(120)


@pytest.fixture(scope="module")
def app(
    postgres_url: str,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
    liar: LyingProvider,
    honest: str,
) -> Iterator[FastAPI]:
    providers = [
        {**CLIENT, "key": "honest", "name": "University", "issuer": honest},
        {**CLIENT, "key": "liar", "name": "Liar", "issuer": liar.issuer,
         "domains": ["example.edu"]},
        {**CLIENT, "key": "gone", "name": "Gone", "issuer": "http://127.0.0.1:1"},
        {**CLIENT, "key": "github", "name": "GitHub", "kind": "github",
         "issuer": f"{liar.issuer}/enterprise"},
    ]  # fmt: skip
    with cloned(postgres_url, migrated_template) as url:
        settings = Settings(
            database_url=url,
            blobs_url=f"file://{tmp_path_factory.mktemp('blobs')}",
            session_secret="x" * 32,
            sign_up="open",
            identity_providers=json.dumps(providers),
        )
        made = create_app(settings)
        made.state.database_url, made.state.settings = url, settings
        yield made


@pytest.fixture(scope="module")
def address(app: FastAPI) -> Iterator[str]:
    with serve(app) as found:
        yield found


@pytest.fixture
def browser(app: FastAPI, address: str, liar: LyingProvider) -> Iterator[httpx.Client]:
    """A browser without script. The site has no people, and remembers no provider."""
    liar.forget()
    for client in app.state.peck.providers.values():
        client._known = client._failure = None
    app.state.peck.settings.sign_up = "open"
    with db.connect(app.state.database_url) as conn:
        conn.execute("truncate users cascade")
        conn.commit()
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client
