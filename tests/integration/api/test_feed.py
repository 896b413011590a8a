"""The feed of own results, in pages and as a stream."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import httpx
import psycopg
import pytest
from fastapi import FastAPI

from ladder.reports import feed as reports
from services.api import feed
from services.api_client import ApiError
from services.cli.insights import follow_feed
from services.http import reader_limits
from services.http.problems import ProblemError, error_response
from services.http.stream_signals import NotificationListener
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import World, play_rated
from tests.waiting import wait_until

SETTLE_SECONDS = 0.3


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items settle sooner, and streams look more often."""
    monkeypatch.setattr(reports, "SETTLE_SECONDS", SETTLE_SECONDS)
    monkeypatch.setattr(feed, "NEWS_SECONDS", SETTLE_SECONDS + 0.4)
    monkeypatch.setattr(feed, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(feed, "QUIET_LOOK_SECONDS", 0.5)


def events(answer: httpx.Response) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Id, event and data of each message of a stream."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield fields["id"], fields["event"], json.loads(fields["data"])
            fields = {}


def test_a_person_reads_only_the_feed_of_own_teams(world: World) -> None:
    mine = list(world.client("member").list_items("/v1/me/feed"))
    kinds = {item["kind"] for item in mine}
    assert {"validation_passed", "validation_failed", "rated", "scrim_finished"} <= kinds
    assert all("member" in item["title"] for item in mine if "agent_id" in item["subject"])
    rival = list(world.client("rival").list_items("/v1/me/feed"))
    assert "rated" not in {item["kind"] for item in rival}
    assert list(world.client("admin").list_items("/v1/me/feed")) == []


def test_pages_hold_every_item_once(world: World) -> None:
    client = world.client("member")
    whole = [item["key"] for item in client.list_items("/v1/me/feed")]
    assert whole == sorted(whole, reverse=True)
    assert [item["key"] for item in client.list_items("/v1/me/feed", limit=2)] == whole
    with pytest.raises(ApiError, match="key"):
        client.get("/v1/me/feed", cursor="YWJj")


def test_a_stream_resumes_after_the_last_item(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.tokens['member']}"}
    path = "/v1/me/feed/stream"
    time.sleep(SETTLE_SECONDS)  # events of the world's creation are old by now
    with world.http.stream("GET", path, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        play_rated(world, "public")
        first, kind, data = next(events(answer))
    assert kind == "rated"
    assert data["subject"]["match_id"] == world.matches["public.rated"]
    play_rated(world, "public")
    with world.http.stream("GET", path, headers={**headers, "Last-Event-ID": first}) as answer:
        _, _, data = next(events(answer))
    assert data["subject"]["match_id"] == world.matches["public.rated"]


def test_a_notification_wakes_a_quiet_stream(
    app: FastAPI, fresh_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "QUIET_LOOK_SECONDS", 3600.0)
    time.sleep(SETTLE_SECONDS)  # events of the world's creation are old by now
    listener = app.state.peck.listener
    wait_until(lambda: listener.quiet_seconds() > feed.NEWS_SECONDS, "nothing is heard")
    headers = {"Authorization": f"Bearer {fresh_world.tokens['member']}"}
    with fresh_world.http.stream("GET", "/v1/me/feed/stream", headers=headers) as answer:
        play_rated(fresh_world, "public")
        _, kind, _ = next(events(answer))
    assert kind == "rated"


def test_a_listener_that_is_cancelled_twice_closes_its_connection(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancelled(_: object) -> None:
        raise asyncio.CancelledError  # as if the second cancellation came during the rollback

    async def listen() -> None:
        listener = NotificationListener()
        async with listener.listening(database_url):
            while listener.quiet_seconds() == 0.0:
                await anyio.sleep(0.01)

    monkeypatch.setattr(psycopg.AsyncConnection, "rollback", cancelled)
    with ThreadPoolExecutor(1) as pool:  # a browser of another test may have this thread's loop
        pool.submit(anyio.run, listen).result()
    gc.collect()  # warns of a connection that is still open; pytest makes that an error


def test_the_client_follows_beyond_the_end_of_a_stream(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_limits, "LONGEST_SECONDS", SETTLE_SECONDS)
    monkeypatch.setattr("services.cli.insights.AGAIN_SECONDS", 0.1)
    client = world.client("member")
    newest, before, *_ = client.list_items("/v1/me/feed")
    following = follow_feed(client, before["key"])
    assert next(following) == newest
    play_rated(world, "public")
    assert next(following)["subject"]["match_id"] == world.matches["public.rated"]


def test_a_stream_refuses_a_missing_token_or_an_invalid_key(world: World) -> None:
    path = "/v1/me/feed/stream"
    assert world.http.get(path).status_code == 401
    headers = {"Authorization": f"Bearer {world.tokens['member']}", "Last-Event-ID": "yesterday"}
    assert world.http.get(path, headers=headers).status_code == 422


def test_a_person_may_open_a_limited_number_of_streams() -> None:
    known = reader_limits.StreamLimits()
    held = [known.register_stream("usr_a") for _ in range(reader_limits.MOST_STREAMS_PER_USER)]  # type: ignore[arg-type]
    with pytest.raises(Exception, match="Close a stream"):
        known.register_stream("usr_a")  # type: ignore[arg-type]
    known.unregister_stream("usr_a", held[0])  # type: ignore[arg-type]
    known.register_stream("usr_a")  # type: ignore[arg-type]
    known.register_stream("usr_b")  # type: ignore[arg-type]


def test_a_full_process_names_the_time_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_limits, "MOST_STREAMS", 1)
    known = reader_limits.StreamLimits()
    known.register_stream("usr_a")  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="Try again in 30 seconds") as full:
        known.register_stream("usr_b")  # type: ignore[arg-type]
    answer = error_response(full.value)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")


def test_an_old_key_is_refused_with_the_remedy(
    world: World,
) -> None:
    path, token = "/v1/me/feed/stream", world.tokens["member"]
    old = f"{int(time.time() - 3700) * 10**6}.x"
    headers = {"Authorization": f"Bearer {token}", "Last-Event-ID": old}
    refused = world.http.get(path, headers=headers)
    assert refused.status_code == 422
    assert "older than 60 minutes" in refused.json()["detail"]
    time.sleep(SETTLE_SECONDS)
    client = world.client("member")
    whole = list(client.list_items("/v1/me/feed"))[::-1]
    following = follow_feed(client, old)
    assert [next(following) for _ in whole] == whole


def test_the_key_of_a_quiet_stream_advances(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "BEAT_SECONDS", 0.0)
    headers = {"Authorization": f"Bearer {world.tokens['admin']}"}
    with world.http.stream("GET", "/v1/me/feed/stream", headers=headers) as answer:
        keys = (line for line in answer.iter_lines() if line.startswith("id: "))
        assert next(keys) < next(keys) < next(keys)


def test_a_stream_ends_with_its_token(world: World) -> None:
    made = world.client("member").post(
        "/v1/users/me/tokens", {"label": "short", "scopes": ["read"]}
    )
    headers = {"Authorization": f"Bearer {made['token']}"}
    time.sleep(SETTLE_SECONDS)
    with world.http.stream("GET", "/v1/me/feed/stream", headers=headers) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith("retry: ")
        world.client("member").send("DELETE", f"/v1/users/me/tokens/{made['id']}")
        assert [line for line in lines if line.startswith("data")] == []
