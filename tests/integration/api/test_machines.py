"""A site with machines: who may let them join, and what a machine's credentials allow."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from redis import Redis
from redis.exceptions import RedisError

from ladder.database import db
from ladder.database.blobs import Blobs, BlobsUnavailable, open_blobs
from ladder.database.db import Connection
from ladder.entries import remote_agents
from ladder.errors import Conflict, LadderError, NotFound
from ladder.ids import MatchId
from ladder.machines import lease_blobs
from ladder.matches import history, lease, workers
from ladder.matches.records import MatchOrder
from ladder.people import tokens, users
from ladder.settings import Settings
from services.api_client import ApiError, Client
from services.app import create_app
from services.http.machines import require_redis_password
from services.scheduler import jobs
from tests import s3_server, typed
from tests.integration.api.serving import serve
from tests.integration.ladder.contest import Contest, hello, raise_contest
from tests.lent_databases import Lender
from tests.servers import without_login
from workers import redis_users
from workers.site_blobs import SiteBlobs
from workers.storage_waits import NO_BLOB

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
        assert redis_users.PREFIX not in str(redis.acl_users())


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
    made = raise_contest(site.conn)
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


def refused(act: Callable[[], Any]) -> bool:
    """Whether an attempt got nothing: an error, an error answer, or an empty list."""
    try:
        got = act()
    except (psycopg.Error, LadderError, RedisError, ApiError):
        return True
    return got.is_error if isinstance(got, httpx.Response) else got == []


def state_of(site: Site) -> list[Any]:
    """What an attack could change: matches, workers, machines, Redis and blobs."""
    queries = (
        "select id, state, attempt, worker from matches order by id",
        "select match_id, seat, placement, log_digest from seats order by 1, 2",
        "select id, host, slots from workers order by id",
        "select id, name, drained_at, revoked_at from machines order by id",
        "select * from machine_uploads order by digest",
        "select id from machine_invitations order by id",
        "select digest from erased_blobs",
    )
    found: list[Any] = [site.conn.execute(query.encode()).fetchall() for query in queries]
    keys = {str(key): site.redis.dump(key) for key in site.redis.scan_iter() if b"LIMIT" not in key}
    stored = sorted(one for one, _ in site.blobs.digests())  # type: ignore[attr-defined]
    return [*found, keys, stored]


def test_credentials_of_a_machine_allow_nothing_beyond_its_lease(
    site: Site, contest: Contest, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = rated(contest)
    theirs = contest.claim(other, "w1")  # a worker of the site
    site.join("lake")
    site.redis.lpush("rate", "x")
    site.redis.set("secret", "x")
    own, redis, http = machine.conn, machine.redis, machine.http
    match, attempt = other, theirs.attempt
    mine = machine.order

    def finish(match_id: MatchId, number: int, worker: str) -> Any:
        return contest.finish(match_id, number, [1, 2, 3, 4], worker=worker, conn=own)

    def sql(query: str) -> Callable[[], Any]:
        return lambda: own.execute(query.encode()).fetchall()

    def call(method: str, path: str, **options: Any) -> Callable[[], Any]:
        return lambda: http.request(method, path, **options)

    def command(*words: str) -> Callable[[], Any]:
        return lambda: redis.execute_command(*words)  # type: ignore[no-untyped-call]

    bundle = theirs.digests[0]
    monkeypatch.setattr(lease_blobs, "MOST_BYTES", 1 << 16)
    large = b"x" * (lease_blobs.MOST_BYTES + 1)
    attacks: dict[str, Callable[[], Any]] = {
        "reads people": sql("select * from users"),
        "reads tokens": sql("select * from tokens"),
        "reads matches": sql("select * from matches"),
        "reads bundles": sql("select digest from submissions"),
        "reads machines": sql("select secret_hash from machines"),
        "grants itself a blob": sql(
            "insert into machine_uploads values"
            f" ('{machine.joined['machine']['id']}', '{match}', 1, '{bundle}', 1)"
        ),
        "resumes itself": sql("update machines set drained_at = null"),
        "makes a table": sql("create table mine ()"),
        "makes a role": sql("create role other"),
        "takes the owner's role": sql("set role postgres"),
        "voids a match": sql(f"select lease_void(array['{match}'], 'a lie')"),
        "queues a match again": sql("select lease_reap(100)"),
        "reads a server's file": sql("select pg_read_file('/etc/passwd')"),
        "registers for a worker of the site": lambda: workers.register_worker(own, hello("w1")),
        "describes itself with controls": lambda: workers.register_worker(
            own, hello("pond-2", lacks=("\x1b[2J",))
        ),
        "offers very many slots": lambda: workers.register_worker(own, hello("pond-2", slots=1000)),
        "describes itself at great length": lambda: workers.register_worker(
            own, hello("pond-2", lacks=("x" * 30_000,))
        ),
        "beats for another": lambda: workers.record_heartbeat(own, "w1"),
        "claims for another": lambda: lease.claim_match(own, match, "w1"),
        "renews for another": lambda: lease.renew_leases(own, [(match, attempt)]),
        "finishes for another": lambda: finish(match, attempt, "w1"),
        "fails for another": lambda: lease.fail_attempt(own, match, attempt, "w1", "host", "x"),
        "calls agents of another unreachable": lambda: remote_agents.void_for_unreachable_agents(
            own, match, attempt, "w1", {0: "x"}
        ),
        "names bytes of others as its log": lambda: finish(mine.match_id, mine.attempt, "pond-1"),
        "takes a message of the raters": command("BRPOP", "rate", "1"),
        "takes a message of the notifier": command("BRPOP", "notices", "1"),
        "sends drawing": command("LPUSH", "draw", "x"),
        "reads a key": command("GET", "secret"),
        "publishes steps of another match": command("XADD", f"peck:live:{match}:1", "*", "d", "x"),
        "reads marks of another machine": command("HGETALL", "unacked.peck_machine_lake"),
        "empties Redis": command("FLUSHALL"),
        "reads the users of Redis": command("ACL", "LIST"),
        "sets up Redis": command("CONFIG", "SET", "dir", "/"),
        "reads a bundle of another match": call("GET", f"/v1/machine/blobs/{bundle}"),
        "reads a missing blob": call("GET", f"/v1/machine/blobs/{NO_BLOB}"),
        "stores other bytes": call("PUT", f"/v1/machine/blobs/{bundle}", content=CONTENT),
        "stores too much": call(
            "PUT", f"/v1/machine/blobs/{hashlib.sha256(large).hexdigest()}", content=large
        ),
        "leaves the folder": call("GET", "/v1/machine/blobs/..%2f..%2fetc%2fpasswd"),
        "reads its person": call("GET", "/v1/me"),
        "reads the audit log": call("GET", "/v1/admin/audits"),
        "lists machines": call("GET", "/v1/machines"),
        "invites a machine": call("POST", "/v1/machines/invitations"),
        "revokes another machine": call("DELETE", "/v1/machines/lake"),
        "drains another machine": call("PUT", "/v1/machines/lake/drain"),
        "makes a token": call("POST", "/v1/users/me/tokens", json={"label": "x", "scopes": []}),
        "joins without a code": call(
            "POST", "/v1/machines/join", json={"code": machine.joined["secret"], "name": "sea"}
        ),
    }
    before = state_of(site)
    succeeded = [name for name, act in attacks.items() if not refused(act)]
    assert succeeded == []
    assert state_of(site) == before
    print(f"{len(attacks)} attempts, all refused")
    assert len(attacks) >= 25


def test_a_machine_that_is_not_trusted_gets_no_bundle_without_consent(
    site: Site, contest: Contest
) -> None:
    joined = site.join("lake", "volunteer")
    assert joined["queues"] == ["open"]
    match = rated(contest)
    bundle = site.conn.execute("select min(digest) from submissions").fetchone()
    assert bundle is not None
    with (
        psycopg.connect(joined["database_url"], autocommit=True) as own,
        Redis.from_url(joined["redis_url"]) as redis,
        httpx.Client(
            base_url=site.address, headers={"Authorization": f"Bearer {joined['secret']}"}
        ) as http,
    ):
        workers.register_worker(own, hello("lake-1", queues=("open", "play.cpu", "validate")))

        def sql(query: str) -> Callable[[], Any]:
            return lambda: own.execute(query.encode()).fetchall()

        def take(queue: str) -> Callable[[], Any]:
            return lambda: redis.brpop([queue], 1)

        before = state_of(site)
        attacks: dict[str, Callable[[], Any]] = {
            "claims": lambda: lease.claim_match(own, match, "lake-1") or [],
            "reads a bundle": lambda: http.get(f"/v1/machine/blobs/{bundle[0]}"),
            "trusts itself": lambda: http.put("/v1/machines/lake/trust", json={"tier": "trusted"}),
            "raises its tier": sql("update machines set tier = 'trusted'"),
            "agrees for an agent": sql("update agents set machine_tier = 'volunteer'"),
            "asks what it may play": sql("select lease_allows(null, m) from matches m"),
            "wakes matches": sql("select lease_wake_open(100, 0)"),
            **{f"takes from {queue}": take(queue) for queue in redis_users.QUEUES},
        }
        assert [name for name, act in attacks.items() if not refused(act)] == []
        assert state_of(site)[:1] == before[:1]
        assert redis.llen("open") == 0


@pytest.mark.parametrize("s3_endpoint", ["folder", "s3"], indirect=True)
def test_a_machine_reads_and_stores_the_blobs_of_its_lease(
    site: Site,
    contest: Contest,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    s3_endpoint: str,
) -> None:
    blobs = machine.blobs
    answer = machine.http.get(f"/v1/machine/blobs/{machine.order.digests[0]}")
    if s3_endpoint:
        address = answer.headers["location"]
        assert answer.status_code == 307
        assert address.startswith(s3_endpoint)
        assert hashlib.sha256(httpx.get(address).content).hexdigest() == machine.order.digests[0]
        # The address is good for one blob and for reading alone.
        other = address.replace(machine.order.digests[0], machine.order.digests[1])
        assert httpx.get(other).status_code == 403
        assert httpx.put(address, content=CONTENT).status_code == 403
    else:
        assert answer.status_code == 200
    for name in machine.order.digests:
        assert hashlib.sha256(b"".join(blobs.open(name))).hexdigest() == name
    stored = blobs.put_bytes(CONTENT)
    assert blobs.put_bytes(CONTENT) == stored
    assert b"".join(site.blobs.open(stored.digest)) == CONTENT
    with pytest.raises(NotFound):  # it has these bytes already
        blobs.open(stored.digest)
    assert not blobs.exists(NO_BLOB)

    monkeypatch.setattr(lease_blobs, "LEASE_BYTES", 2 * lease_blobs.LEAST_CHARGE_BYTES)
    blobs.put_bytes(b"a second one")
    with pytest.raises(LadderError, match="409"):
        blobs.put_bytes(b"a third one")

    order = machine.order
    assert lease.fail_attempt(
        machine.conn, order.match_id, order.attempt, "pond-1", "worker", "it stops"
    )
    with pytest.raises(NotFound):
        blobs.open(order.digests[0])
    with pytest.raises(LadderError, match="no lease"):
        blobs.put_bytes(CONTENT)
    with (
        closing(SiteBlobs("http://127.0.0.1:1", "x")) as nowhere,
        pytest.raises(BlobsUnavailable),
    ):
        nowhere.put_bytes(CONTENT)


def test_a_revoked_machine_loses_everything_at_once(
    site: Site, contest: Contest, machine: Machine
) -> None:
    blobs = machine.blobs
    assert machine.redis.ping()
    revoked = site.admin.send("DELETE", "/v1/machines/pond").json()
    assert revoked["matches"] == [machine.order.match_id]
    assert history.get_match(site.conn, machine.order.match_id).state == "queued"
    with pytest.raises(psycopg.OperationalError):
        machine.conn.execute("select 1")
    for _ in range(2):
        with pytest.raises(RedisError):
            machine.redis.ping()
    with pytest.raises(LadderError, match="401"):
        blobs.open(machine.order.digests[0])
    with pytest.raises(ApiError, match="already"):
        site.admin.send("DELETE", f"/v1/machines/{revoked['machine']['id']}")


def test_a_user_that_redis_lost_is_made_again(site: Site, machine: Machine, redis_url: str) -> None:
    users_of_redis = jobs.RedisUsers(redis_url)
    assert users_of_redis.renew(site.conn)["redis_users_made"] == 0
    (row,) = site.conn.execute("select login from machines")
    redis_users.delete_user(site.redis, row[0])
    with pytest.raises(RedisError):
        machine.redis.ping()
    assert users_of_redis.renew(site.conn)["redis_users_made"] == 1
    assert machine.redis.ping()
    assert jobs.RedisUsers("redis://127.0.0.1:1").renew(site.conn) == {}


def test_a_code_is_refused_after_its_use_and_in_bad_form(site: Site) -> None:
    code = site.admin.post("/v1/machines/invitations")["code"]
    with Client(site.address) as anybody:
        for body, status in (
            ({"code": code, "name": "a b"}, 422),
            ({"code": code, "name": "mch_1"}, 422),
            ({"code": "\x00", "name": "pond"}, 422),
            ({"code": "wrong", "name": "pond"}, 404),
            ({"code": code, "name": "pond"}, 201),
            ({"code": code, "name": "sea"}, 404),
        ):
            answer = anybody.http.post("/v1/machines/join", json=body)
            assert answer.status_code == status, body
        second = site.admin.post("/v1/machines/invitations")["code"]
        taken = anybody.http.post("/v1/machines/join", json={"code": second, "name": "POND"})
        assert (taken.status_code, "another" in taken.json()["detail"]) == (409, True)


def test_an_open_redis_lets_no_machine_join(redis_url: str) -> None:
    with pytest.raises(Conflict, match="requirepass"):
        require_redis_password(redis_url)


def test_commands_about_machines(site: Site, tmp_path: Path) -> None:
    machine = site.join("pond")["machine"]["id"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "COLUMNS": str(typed.WIDTH),
        "PECK_URL": site.address,
        "PECK_TOKEN": site.admin.headers["Authorization"].removeprefix("Bearer "),
    }

    def peck(*arguments: str) -> str:
        done = typed.peck(tmp_path, environment, "machine", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    made = json.loads(peck("invite", "--json"))
    assert f"machine join {made['address']} " in peck("invite")
    listed = json.loads(peck("invitations", "--json"))
    assert made["id"] in {one["id"] for one in listed}
    left = json.loads(peck("invitations", "--revoke", made["id"], "--json"))
    assert len(left) == len(listed) - 1
    assert "pond is volunteer; owner: root" in peck("trust", "pond", "volunteer")
    assert "pond is trusted; owner: the site" in peck("trust", "pond", "trusted")
    assert "claims no more matches; it is empty" in peck("drain", "pond", "--wait")
    assert "drained" in peck("show", machine)
    assert json.loads(peck("resume", "pond", "--json"))["drained_at"] is None
    assert "pond" in peck("list")
    assert "revoked pond" in peck("revoke", "pond")
    assert json.loads(peck("list", "--json")) == []
