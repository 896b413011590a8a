"""A site with machines: who may let them join, and what a machine may do."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import closing
from pathlib import Path

import httpx
import psycopg
import pytest
from redis.exceptions import RedisError

from ladder.database.blobs import BlobsUnavailable
from ladder.errors import Conflict, LadderError, NotFound
from ladder.machines import lease_blobs
from ladder.matches import history, lease
from ladder.matches.records import AttemptFault
from services.api_client import ApiError, Client
from services.machines.operations import require_redis_password
from services.scheduler.jobs import RedisUsers
from tests import typed
from tests.integration.api.machine_site import CONTENT, Machine, Site
from tests.integration.api.machine_site import contest as contest
from tests.integration.api.machine_site import database_url as database_url
from tests.integration.api.machine_site import machine as machine
from tests.integration.api.machine_site import s3_endpoint as s3_endpoint
from tests.integration.api.machine_site import site as site
from tests.integration.ladder.contest import Contest
from workers import redis_clients
from workers.match_attempt import NO_BLOB
from workers.site_blobs import SiteBlobs


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
        machine.conn, order.match_id, order.attempt, "pond-1", AttemptFault("worker", "it stops")
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
    users_of_redis = RedisUsers(redis_url)
    assert users_of_redis.renew(site.conn)["redis_users_made"] == 0
    (row,) = site.conn.execute("select login from machines")
    redis_clients.delete_user(site.redis, row[0])
    with pytest.raises(RedisError):
        machine.redis.ping()
    assert users_of_redis.renew(site.conn)["redis_users_made"] == 1
    assert machine.redis.ping()
    assert RedisUsers("redis://127.0.0.1:1").renew(site.conn) == {}


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
    site.join("pond")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PECK_URL": site.address,
        "PECK_TOKEN": site.admin.headers["Authorization"].removeprefix("Bearer "),
    }

    def peck(*arguments: str) -> str:
        done = typed.peck(tmp_path, environment, "machine", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    made = json.loads(peck("invite", "--json"))
    assert f"machine join {made['address']} " in peck("invite")
    assert "claims no more matches; it is empty" in peck("drain", "pond", "--wait")
    assert "drained" in peck("list")
    assert json.loads(peck("resume", "pond", "--json"))["drained_at"] is None
    assert "pond" in peck("list")
    assert "revoked pond" in peck("revoke", "pond")
    assert json.loads(peck("list", "--json")) == []
