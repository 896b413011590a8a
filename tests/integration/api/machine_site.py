"""A running site, and a machine that joined it and holds the lease of a match."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from redis import Redis

from ladder.database import db
from ladder.database.blobs import Blobs, open_blobs
from ladder.database.db import Connection
from ladder.ids import MatchId
from ladder.matches import lease, workers
from ladder.matches.records import MatchOrder
from ladder.people import tokens, users
from ladder.settings import Settings
from services.api_client import Client
from services.app import create_app
from tests import s3_server
from tests.integration.api.serving import serve
from tests.integration.ladder.contest import Contest, hello, make_contest
from tests.lent_databases import Lender
from tests.servers import without_login
from workers import redis_clients
from workers.site_blobs import SiteBlobs

CONTENT = b"a replay of this machine"


@dataclass
class Site:
    """A running site, its administrator, and its servers."""

    address: str
    database_url: str
    redis: Redis
    blobs: Blobs
    conn: Connection
    admin: Client

    def join(self, name: str, tier: str = "trusted") -> dict[str, Any]:
        code = self.admin.post("/v1/machines/invitations", {"tier": tier})["code"]
        body = {"code": code, "name": name}
        with Client(self.address) as anybody:
            made: dict[str, Any] = anybody.send("POST", "/v1/machines/join", json=body).json()
        return made


@pytest.fixture
def database_url(lender: Lender, migrated_template: str) -> Iterator[str]:
    with lender.lent(migrated_template) as url:
        yield url


@pytest.fixture
def s3_endpoint(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Empty, or a real S3 server for blobs if the test asks for one."""
    if getattr(request, "param", "folder") == "folder":
        yield ""
        return
    with s3_server.running(tmp_path) as started:
        for name, value in started.server.environment().items():
            monkeypatch.setenv(name, value)
        yield started.server.environment()["AWS_ENDPOINT"]


@pytest.fixture
def site(
    database_url: str, redis_url: str, tmp_path: Path, worker_role: None, s3_endpoint: str
) -> Iterator[Site]:
    folder = (tmp_path / "blobs").as_uri()
    settings = Settings(
        database_url=database_url,
        blobs_url=f"s3://{s3_server.BUCKET}/site" if s3_endpoint else folder,
        machine_blobs_endpoint=s3_endpoint,
        redis_url=redis_url,
        machine_database_url=without_login(database_url),
        machine_redis_url=redis_url,
        session_secret="x" * 32,
    )
    with (
        Redis.from_url(redis_url) as redis,
        db.connect(database_url, autocommit=True) as conn,
        serve(create_app(settings)) as address,
    ):
        root = users.create_user(conn, "root", is_admin=True).id
        token = tokens.mint_token(conn, root, "root", tokens.SCOPES)[1]
        with Client(address, token) as admin:
            yield Site(address, database_url, redis, open_blobs(settings.blobs_url), conn, admin)
            for each in list(admin.list_items("/v1/machines")):  # roles belong to the server
                admin.send("DELETE", f"/v1/machines/{each['id']}")
        assert redis_clients.PREFIX not in str(redis.acl_users())


@dataclass
class Machine:
    """What a machine holds: its credentials, and the lease of one match."""

    joined: dict[str, Any]
    conn: Connection
    redis: Redis
    http: httpx.Client
    order: MatchOrder
    blobs: SiteBlobs


@pytest.fixture
def contest(site: Site) -> Contest:
    made = make_contest(site.conn)
    for number in range(100):  # the bytes of the bundles that the contest makes
        site.blobs.put_bytes(f"bundle {number}".encode())
    return made


def rated(contest: Contest) -> MatchId:
    return contest.rated(*(contest.active() for _ in range(4)))


@pytest.fixture
def machine(site: Site, contest: Contest) -> Iterator[Machine]:
    joined = site.join("pond")
    with (
        psycopg.connect(joined["database_url"], autocommit=True) as conn,
        Redis.from_url(joined["redis_url"]) as redis,
        httpx.Client(
            base_url=site.address, headers={"Authorization": f"Bearer {joined['secret']}"}
        ) as http,
        closing(SiteBlobs(site.address, joined["secret"])) as blobs,
    ):
        workers.register_worker(conn, hello("pond-1"))
        order = lease.claim_match(conn, rated(contest), "pond-1")
        assert order is not None
        yield Machine(joined, conn, redis, http, order, blobs)
