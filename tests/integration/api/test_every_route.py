"""Requests every route as every person, in a public and in a private league.

Replays are private to the teams in both leagues. A route that is missing from the table fails the
test. A new row goes into a module of ``route_walk`` and names the statuses of five people; the
statuses of the other people follow from these (``statuses``), except those in EXCEPTIONS.
"""

from __future__ import annotations

import itertools

import pytest

from services.api_client import ApiError
from services.http.reader_limits import MOST_STREAMS_PER_USER
from tests.integration.api.route_walk.row import JSON
from tests.integration.api.route_walk.statuses import is_of_no_league, statuses
from tests.integration.api.route_walk.table import WALK
from tests.integration.api.route_walk.words import fill, words
from tests.integration.api.world import (
    GOOD,
    SCOPES,
    World,
    begin_rated,
    make_reader_and_foreign,
)


@pytest.mark.parametrize("league", ["public", "private"])
def test_every_route_answers_each_person_as_the_table_says(world: World, league: str) -> None:
    known, fresh = words(world, league), itertools.count()
    spare = world.client("member").post(
        "/v1/users/me/tokens", {"label": "revoked", "scopes": SCOPES}
    )
    world.client("member").send("DELETE", f"/v1/users/me/tokens/{spare['id']}")
    world.tokens["revoked"] = spare["token"]
    admin, blocked = (
        world.client("admin"),
        world.client("admin").post("/v1/users", {"name": "blocked"})["id"],
    )
    world.tokens["blocked"] = admin.post(
        f"/v1/users/{blocked}/tokens", {"label": "test", "scopes": SCOPES}
    )["token"]
    admin.send("PUT", f"/v1/users/{blocked}/block", json={"reason": "a walk"})
    make_reader_and_foreign(world)
    uploads = world.client("host").post(
        "/v1/users/me/tokens", {"label": "uploads", "scopes": ["read", "agents:write"]}
    )
    world.tokens["uploader"] = uploads["token"]
    wrong = []
    for row in WALK:
        method, path, body, *_ = row
        for person, status in statuses(row, league).items():
            if league == "private" and (person in ("revoked", "blocked") or is_of_no_league(row)):
                continue  # the same answer in every league; the public one shows it
            here = {**known, "n": f"{league[:3]}{next(fresh)}"}
            options: JSON = {}
            if body is not None and "bytes" in body:
                options["content"] = GOOD + here["n"].encode()
            elif body is not None:
                options["json"] = fill(body, here)
            client = world.client(person)
            try:
                got = client.send(method, fill(path, here), **options).status_code
            except ApiError as error:
                got = error.status if error.problem["status"] == error.status else 0
            if got != status:
                wrong.append(f"{method} {path} as {person}: {got}, not {status}")
    assert wrong == [], "\n".join(wrong)


def test_the_table_has_every_route_of_the_api(world: World) -> None:
    document = world.http.get("/openapi.json").json()
    declared = {
        (method.upper(), len(path.split("/")), shape(path))
        for path, methods in document["paths"].items()
        for method in methods
    }
    walked = {
        (method, len(path.split("/")), shape(path.split("?")[0])) for method, path, *_ in WALK
    }
    assert declared - walked == set()


def shape(path: str) -> str:
    """A path without the names of its parameters."""
    return "/".join(
        "*" if part.startswith("{") or part.isdigit() else part for part in path.split("/")
    )


def test_head_answers_every_route_as_get_does(world: World) -> None:
    known, wrong = words(world, "public"), []
    for method, path, *_ in WALK:
        if method != "GET":
            continue
        got, head = (
            world.http.request(one, fill(path, known), headers=world.client("member").headers)
            for one in ("GET", "HEAD")
        )
        same = ((one.status_code, one.headers.get("content-type")) for one in (got, head))
        if len(set(same)) != 1 or head.content:
            wrong.append(f"{path}: {head.status_code}, not {got.status_code}")
    assert wrong == [], "\n".join(wrong)
    assert "head" not in {
        method
        for methods in world.http.get("/openapi.json").json()["paths"].values()
        for method in methods
    }


@pytest.mark.parametrize("path", ["/v1/me/feed/stream", "/v1/matches/{running}/live"])
def test_head_of_a_stream_ends_after_the_headers(world: World, path: str) -> None:
    headers = {**world.client("member").headers, "Accept": "text/event-stream"}
    address = fill(path, {"running": begin_rated(world, "public")})
    for _ in range(MOST_STREAMS_PER_USER + 2):  # each gives its place back
        answer = world.http.head(address, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
