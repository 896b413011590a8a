"""What health, metrics and uploads say while Redis or the disk of the blob store is full."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest
from fastapi import FastAPI
from redis import Redis

from ladder.database import blobs, db
from ladder.database.blobs import open_blobs
from services import server_faults
from services.server_faults import FaultLog
from tests.integration.api.conftest import application
from tests.integration.api.world import World
from tests.waiting import wait_until
from workers.redis_clients import why_redis_takes_no_messages


@pytest.fixture
def app(app: FastAPI, blobs_url: str, redis_url: str) -> FastAPI:
    """The same application with a Redis."""
    made = application(app.state.database_url, blobs_url, redis_url)
    made.state.database_url = app.state.database_url
    return made


@pytest.fixture
def full_memory(redis_url: str) -> Iterator[Callable[[], object]]:
    """A function that leaves Redis no memory for writes."""
    client = Redis.from_url(redis_url)
    yield lambda: client.config_set("maxmemory", "1")
    client.config_set("maxmemory", "0")


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes the blob store's disk too small."""
    return lambda: monkeypatch.setattr(blobs, "LEAST_FREE_BYTES", 1 << 60)


def faults(http: httpx.Client) -> tuple[str, list[str]]:
    """Status and faulty parts, as health and metrics say them."""
    answer = http.get("/health/ready")
    assert answer.status_code == 200
    ready = answer.json()
    parts = [fault["part"] for fault in ready["faults"]]
    metrics = http.get("/metrics").text
    for part in ("redis", "blobs"):
        assert f'peck_server_fault{{part="{part}"}} {float(part in parts)}' in metrics
    return ready["status"], parts


def test_health_and_metrics_name_a_redis_that_refuses_writes(
    world: World, full_memory: Callable[[], object]
) -> None:
    assert faults(world.http) == ("ok", [])
    full_memory()
    wait_until(
        lambda: world.http.get("/health/ready").json()["status"] != "ok", "the site asks again"
    )
    assert faults(world.http) == ("degraded", ["redis"])


@pytest.mark.parametrize("path", ["/health/ready", "/metrics"])
def test_no_connection_is_held_while_redis_is_asked(
    world: World, app: FastAPI, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    pool = app.state.peck.pool
    held: list[int] = []

    def count_and_ask(url: str) -> str | None:
        stats = pool.get_stats()
        held.append(stats["pool_size"] - stats["pool_available"])
        return why_redis_takes_no_messages(url)

    monkeypatch.setattr(server_faults, "why_redis_takes_no_messages", count_and_ask)
    assert world.http.get(path).status_code == 200
    assert held == [0]


def test_requests_soon_after_each_other_ask_redis_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def note_and_ask(url: str) -> str | None:
        asked.append(url)
        return why_redis_takes_no_messages(url)

    monkeypatch.setattr(server_faults, "why_redis_takes_no_messages", note_and_ask)
    monkeypatch.setattr(server_faults, "REMEMBERED_SECONDS", 3600.0)
    for path in ("/health/ready", "/metrics", "/health/ready"):
        assert world.http.get(path).status_code == 200
    assert len(asked) == 1


def test_others_get_the_last_answer_while_one_request_asks_redis(
    blobs_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered = server_faults.RememberedFaults(redis_url, open_blobs(blobs_url))
    assert remembered.find() == []
    monkeypatch.setattr(server_faults, "REMEMBERED_SECONDS", 0.0)
    asks, goes_on = threading.Event(), threading.Event()

    def hang(url: str) -> str | None:
        asks.set()
        goes_on.wait()
        return "it hangs"

    monkeypatch.setattr(server_faults, "why_redis_takes_no_messages", hang)
    asking = threading.Thread(target=remembered.find)
    asking.start()
    asks.wait()
    try:
        assert remembered.find() == []
    finally:
        goes_on.set()
        asking.join()
    assert [fault.part for fault in remembered.find()] == ["redis"]


def test_health_and_metrics_name_a_full_disk(world: World, full_disk: Callable[[], None]) -> None:
    full_disk()
    assert faults(world.http) == ("degraded", ["blobs"])


def test_an_upload_to_a_full_disk_is_refused_with_507(
    world: World, full_disk: Callable[[], None]
) -> None:
    member = world.client("member")
    path = f"/v1/agents/{world.agents['public.member']}/submissions"
    body = b"def agent(o): return 'NORTH'  # new"
    full_disk()
    refused = world.http.post(path, headers=member.headers, content=body)
    assert (refused.status_code, refused.json()["type"]) == (507, "/problems/storage-full")
    assert "free space" in refused.json()["detail"]
    assert "must free space" in world.http.get("/problems/storage-full").text


def test_faults_are_logged_once(
    world: World,
    blobs_url: str,
    redis_url: str,
    full_memory: Callable[[], object],
    full_disk: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = FaultLog(redis_url, open_blobs(blobs_url))
    full_memory()
    full_disk()
    with db.connect(world.database_url) as conn:
        log.log_changes(conn)
        log.log_changes(conn)
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        told = [(one["event"], one["level"], one["part"]) for one in lines]
        assert told == [("server_fault", "warning", part) for part in ("redis", "blobs")]
        monkeypatch.undo()
        log.log_changes(conn)
        assert '"server_fault_cleared", "part": "blobs"' in capsys.readouterr().err
