"""A person with unusual words in everything that a person can type, and the search for them later.

After the deletion no column and no blob holds one of the words. The export before it holds them.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import Request
from redis import Redis

from ladder.database import db
from ladder.database.db import Connection
from ladder.matches import matches, workers
from ladder.privacy import erasing
from services.api_client import ApiError, Client
from services.http.attempt_limits import AttemptLimits, Limits
from tests.integration.api.commands import Peck
from tests.integration.api.commands import fresh_peck as fresh_peck
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.unusual_words import (
    NAME,
    PASSWORD,
    WORD,
    Person,
    places,
    type_everywhere,
    unpacked,
)
from tests.integration.api.world import WORKER, World


def blob_folder(url: str) -> Path:
    return Path(urlsplit(url).path)


@pytest.fixture(scope="module")
def person(world: World) -> Person:
    """The person of these tests; the last of them deletes the account."""
    with world.connect() as conn:
        workers.register_worker(
            conn, workers.WorkerHello(WORKER, "here", "node", matches.QUEUES, 4, ("numpy",))
        )
    return type_everywhere(world)


@pytest.fixture
def watching(world: World) -> Iterator[Connection]:
    """A connection in autocommit."""
    with db.connect(world.database_url, autocommit=True) as conn:
        yield conn


def board(world: World) -> httpx.Response:
    return world.http.get(f"/v1/seasons/{world.seasons['public']}/leaderboard")


def test_export_holds_everything_of_the_person_and_no_secret(
    world: World, person: Person, tmp_path: Path
) -> None:
    path = tmp_path / "export.zip"
    person.client.download("/v1/users/me/export", path)
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as packed:
        assert packed.testzip() is None
        files = {name: packed.read(name) for name in packed.namelist()}
    tables: dict[str, Any] = {
        name.removeprefix("data/").removesuffix(".json"): json.loads(content)
        for name, content in files.items()
        if name.startswith("data/")
    }
    assert tables["users"][0]["name"] == NAME
    assert {row["label"] for row in tables["tokens"]} >= {f"token of {WORD}"}
    assert tables["roster"][0]["external_id"] == f"id-{WORD}"
    assert tables["leagues"][0]["description"] == f"of {WORD}"
    assert all("hash" not in row for rows in tables.values() for row in rows)
    assert all("seed" not in row for row in tables.get("matches", []))
    bundles = [content for name, content in files.items() if name.startswith("bundles/")]
    assert any(WORD.encode() in piece for bundle in bundles for piece in unpacked(bundle))
    assert len(bundles) == 3
    own = [name for name in files if name.startswith("logs/")]
    assert any(person.match in name and name.endswith("-0.json.gz") for name in own)
    assert not any(person.match in name and name.endswith("-1.json.gz") for name in own)
    assert f"replays/{person.match}-0.json.gz" in files
    assert json.loads(files["left-out.json"]) == []


def test_account_is_deleted_only_with_name_and_password(world: World, person: Person) -> None:
    for name, password, field in (("Somebody", PASSWORD, "name"), (NAME, "wrong", "password")):
        with pytest.raises(ApiError) as refused:
            person.client.post("/v1/users/me/deletion", {"name": name, "password": password})
        assert refused.value.status == 422
        assert refused.value.problem["errors"][0]["where"] == f"body.{field}"
    assert person.client.get("/v1/me")["user"]["name"] == NAME


def test_token_of_few_scopes_neither_exports_nor_deletes(world: World, person: Person) -> None:
    text = person.client.post("/v1/users/me/tokens", {"label": "reader", "scopes": ["read"]})[
        "token"
    ]
    reader = Client(str(world.http.base_url), text, http=world.http)
    for method, path, body in (
        ("GET", "/v1/users/me/export", None),
        ("POST", "/v1/users/me/deletion", {"name": NAME, "password": PASSWORD}),
    ):
        with pytest.raises(ApiError) as refused:
            reader.send(method, path, json=body)
        assert refused.value.status == 403


def test_no_word_of_a_deleted_person_stays(
    world: World, person: Person, watching: Connection, blobs_url: str
) -> None:
    conn = watching
    before = places(conn, blob_folder(blobs_url))
    assert {
        *("users.name", "users.look_alike", "teams.name", "teams.slug", "tokens.label"),
        *("sessions.device", "device_logins.device", "idempotency_keys.key"),
        *("idempotency_keys.body", "agents.name", "agents.slug", "submissions.filename"),
        *("submissions.message", "submissions.url", "entries.reason", "seats.reason"),
        *("attempts.detail", "roster.name", "roster.external_id", "roster.team"),
        *("invitations.label", "audits.reason", "leagues.slug", "leagues.title"),
        *("leagues.description", "notice_channels.address"),
        *("teams.look_alike", "team_audits.details", "machines.name"),
    } <= before
    assert sum(place.startswith("blob") for place in before) >= 6
    tag = board(world).headers["ETag"]

    person.client.post("/v1/users/me/deletion", {"name": NAME, "password": PASSWORD})
    assert {place.split(".")[0] for place in places(conn, blob_folder(blobs_url))} <= {
        *("seats", "attempts"),  # the scheduler erases these
        *(place for place in before if place.startswith("blob")),
    }
    conn.execute("update erasures set requested_at = now() - interval '1 minute'")
    assert erasing.finish_erasures(conn, world.blobs) == [person.user]
    assert places(conn, blob_folder(blobs_url)) == set()

    found = world.client("host").get(f"/v1/matches/{person.match}")
    assert found["seats"][0]["team_name"].startswith("Deleted team")
    assert [seat["placement"] for seat in found["seats"]] != [None, None]
    assert world.client("host").get(f"/v1/matches/{person.match}/replay")["steps"]
    again = world.http.get(
        f"/v1/seasons/{person.season}/leaderboard", headers={"If-None-Match": tag}
    )
    assert again.status_code == 200
    with pytest.raises(ApiError) as refused:
        person.client.get("/v1/me")
    assert refused.value.status == 401


def test_peck_deletes_an_account(fresh_peck: Peck, fresh_world: World, tmp_path: Path) -> None:
    exported = fresh_peck("api", "export-account", "--out", "mine.zip")
    assert exported.returncode == 0, exported.stderr
    with zipfile.ZipFile(tmp_path / "mine.zip") as packed:
        assert json.loads(packed.read("data/users.json"))[0]["name"] == "member"
    assert "name another file" in fresh_peck("api", "export-account", "--out", "mine.zip").stderr
    wrong = fresh_peck("api", "delete-account", "name=somebody", "--yes", PECK_PASSWORD="x")
    assert "type your name" in wrong.stderr
    done = fresh_peck("api", "delete-account", "name=member", "--yes", PECK_PASSWORD="x")
    assert "Deleted user" in done.stdout
    assert fresh_peck("whoami").returncode == 1


def test_counters_of_attempts_name_nobody(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
        limits = AttemptLimits(redis_url)
        request = Request({"type": "http", "client": ("192.0.2.7", 1)})
        limits.count(request, Limits.PASSWORD, NAME)
        keys = b" ".join(redis.keys())
        assert b"192.0.2.7" in keys
        assert WORD.encode() not in keys.lower()
