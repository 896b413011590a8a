"""What the credentials of a machine do not allow."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest
from redis import Redis
from redis.exceptions import RedisError

from ladder.entries import remote_agents
from ladder.errors import LadderError
from ladder.ids import MatchId
from ladder.machines import lease_blobs
from ladder.matches import lease, workers
from ladder.matches.records import AttemptFault
from services.api_client import ApiError
from tests.integration.api.machine_site import CONTENT, Machine, Site, rated
from tests.integration.api.machine_site import contest as contest
from tests.integration.api.machine_site import database_url as database_url
from tests.integration.api.machine_site import machine as machine
from tests.integration.api.machine_site import s3_endpoint as s3_endpoint
from tests.integration.api.machine_site import site as site
from tests.integration.ladder.contest import Contest, hello
from workers import redis_clients
from workers.match_attempt import NO_BLOB


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
        "voids a match": sql(f"select lease_void(array['{match}'], 'not_needed', 'a lie')"),
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
        "fails for another": lambda: lease.fail_attempt(
            own, match, attempt, "w1", AttemptFault("host", "x")
        ),
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
    joined = site.join("lake", "checked")
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
            "agrees for an agent": sql("update agents set machines = 'any'"),
            "asks what it may play": sql("select lease_allows(null, m) from matches m"),
            "wakes matches": sql("select lease_wake_open(100, 0)"),
            **{f"takes from {queue}": take(queue) for queue in redis_clients.QUEUES},
        }
        assert [name for name, act in attacks.items() if not refused(act)] == []
        assert state_of(site)[:1] == before[:1]
        assert redis.llen("open") == 0
