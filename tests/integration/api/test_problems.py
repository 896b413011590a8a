"""Errors have one shape and stable types."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import pytest
from psycopg import sql
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from ladder.entries import validations
from ladder.leagues.hosting import LONGEST_MATCH_HOURS
from sandbox.match import attempt, referee
from services.http.body_limits import BodyLimit
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import http as http
from tests.integration.api.shared import world as world
from tests.integration.api.world import World
from tests.loops import run_coroutine
from workers.broker import BACKSTOP_SECONDS


def slug(response: httpx.Response) -> str:
    assert response.headers["content-type"] == "application/problem+json", response.text
    problem = response.json()
    assert problem["status"] == response.status_code
    assert problem["detail"]
    kind: str = problem["type"]
    return kind.removeprefix("/problems/")


def test_an_unknown_address_is_a_problem(http: httpx.Client) -> None:
    assert slug(http.get("/v1/nothing")) == "not-found"


def test_a_wrong_method_names_the_allowed_methods(http: httpx.Client) -> None:
    response = http.put("/v1/leagues")
    assert slug(response) == "method-not-allowed"
    assert "GET" in response.headers["allow"]


def test_an_unknown_token_is_refused(http: httpx.Client) -> None:
    response = http.get("/v1/leagues", headers={"Authorization": "Bearer peck_wrong"})
    assert slug(response) == "unauthorized"
    assert response.headers["www-authenticate"].startswith("Bearer")
    basic = http.get("/v1/leagues", headers={"Authorization": "Basic eDp5"})
    assert slug(basic) == "unauthorized"


def test_a_wrong_value_is_named_with_its_place(http: httpx.Client) -> None:
    response = http.get("/v1/leagues?limit=0")
    assert slug(response) == "invalid"
    assert response.json()["errors"][0]["where"] == "query.limit"


@pytest.mark.parametrize("cursor", ["x", "%00", "ÿ", "AAAA", "bGVh" * 40])
def test_an_invalid_cursor_is_refused(http: httpx.Client, cursor: str) -> None:
    assert slug(http.get(f"/v1/leagues?cursor={cursor}")) == "invalid"


def test_a_body_without_valid_json_is_refused(world: World) -> None:
    headers = world.client("member").headers
    form = world.http.post("/v1/agents", data={"name": "x"}, headers=headers)
    assert slug(form) == "unsupported-media-type"
    headers = {**headers, "Content-Type": "application/json"}
    assert slug(world.http.post("/v1/agents", content=b"{", headers=headers)) == "invalid"
    assert slug(world.http.post("/v1/agents", content=b'"\xff"', headers=headers)) == "malformed"


def test_a_body_above_the_limit_is_refused(world: World) -> None:
    headers = {**world.client("member").headers, "Content-Type": "application/json"}
    large = b" " * (300 * 1024)
    declared = world.http.post("/v1/agents", content=large, headers=headers)
    assert slug(declared) == "too-large"
    assert declared.json()["limit_bytes"] == 256 * 1024
    chunks = (large[i : i + 65536] for i in range(0, len(large), 65536))
    assert world.http.post("/v1/agents", content=chunks, headers=headers).json() == declared.json()


@pytest.mark.parametrize("name", ["", " ", "a\x00b", "\ud800", "x" * 100])
def test_an_invalid_name_is_refused(world: World, name: str) -> None:
    headers = {**world.client("member").headers, "Content-Type": "application/json"}
    escaped = name.encode("unicode-escape").decode().replace("\\x", "\\u00")
    body = f'{{"name": "{escaped}"}}'
    assert slug(world.http.post("/v1/agents", content=body, headers=headers)) == "invalid"


def test_each_problem_type_has_a_page(http: httpx.Client) -> None:
    assert "you may not see it" in http.get("/problems/not-found").text
    assert http.get("/problems/no-such-type").status_code == 404


@contextmanager
def database_away(world: World) -> Iterator[None]:
    """Postgres refuses the connections of the served world."""
    parts = urlsplit(world.database_url)
    name = sql.Identifier(parts.path.removeprefix("/"))
    server = urlunsplit(parts._replace(path="/postgres"))
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("alter database {} with allow_connections false").format(name))
        conn.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s",
            (parts.path.removeprefix("/"),),
        )
        yield
        conn.execute(sql.SQL("alter database {} with allow_connections true").format(name))


def get_all(world: World, paths: Sequence[str], headers: Mapping[str, str]) -> list[httpx.Response]:
    """The answers; each waits for a connection before it reports the error."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda path: world.http.get(path, headers=headers), paths))


def test_pages_say_in_a_database_outage_to_try_again(
    fresh_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with database_away(fresh_world):
        caplog.clear()
        paths = ("/", "/leagues", "/leagues/public?page=1&season=1", "/no-such-page")
        answers = get_all(fresh_world, paths, {"Accept": "text/html"})
    *away, missing = answers
    for page in away:
        assert page.status_code == 503
        assert page.headers["retry-after"]
        assert "Try again shortly" in page.text
    assert 'href="/leagues/public?page=1&amp;season=1">Try again</a>' in away[2].text
    assert missing.status_code == 404
    lines = [one for one in caplog.records if one.name.startswith("services")]
    assert [one.levelname for one in lines] == ["WARNING"] * 3
    assert [one for one in caplog.records if one.exc_info] == []


def test_a_database_outage_answers_503(fresh_world: World) -> None:
    headers = fresh_world.client("member").headers
    board = f"/v1/seasons/{fresh_world.seasons['public']}/leaderboard"
    assert fresh_world.http.get(board).status_code == 200
    paths = ("/v1/me", board, "/health/ready")
    with database_away(fresh_world):
        for away in get_all(fresh_world, paths, headers):
            assert slug(away) == "unavailable"
            assert away.headers["retry-after"]
        assert fresh_world.http.get("/health/live").status_code == 200
    deadline = time.monotonic() + 60
    for path in paths:
        while fresh_world.http.get(path, headers=headers).status_code == 503:
            assert time.monotonic() < deadline
        assert fresh_world.http.get(path, headers=headers).status_code == 200


def test_a_crash_reveals_no_internals(fresh_world: World) -> None:
    with fresh_world.connect() as conn:
        conn.execute("alter table users rename to gone")
        conn.execute("create view users as select 1/0 as id")
    response = fresh_world.http.get("/v1/me", headers=fresh_world.client("member").headers)
    assert response.status_code == 500
    assert slug(response) == "internal"
    assert "column" not in response.text


def test_a_slow_body_is_refused() -> None:
    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        await Request(scope, receive).body()

    async def trickle() -> Message:
        await asyncio.sleep(0.03)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def ignore(message: Message) -> None:
        pass

    scope = {"type": "http", "method": "POST", "path": "/sign-in", "headers": []}
    answering = BodyLimit(reading, seconds=0.1)(scope, trickle, ignore)
    with pytest.raises(HTTPException) as refused:
        run_coroutine(answering)
    assert refused.value.status_code == 400


def test_a_season_with_too_long_matches_is_refused(world: World) -> None:
    answer = world.http.post(
        "/v1/leagues/public/seasons",
        json={"configuration": {"episodeSteps": 10**6}},
        headers={"Authorization": f"Bearer {world.tokens['host']}"},
    )
    assert answer.status_code == 422
    assert "body.configuration" in answer.json()["detail"]
    assert "at most 1 " in answer.json()["detail"]
    allowed = LONGEST_MATCH_HOURS * 3600
    own = attempt.BORROW_SECONDS + 90
    longest = allowed + attempt.WAITING_SECONDS + referee.GPU_WAIT_SECONDS + own
    assert longest < min(BACKSTOP_SECONDS, validations.PLAY_SECONDS)


def test_a_season_with_too_many_seats_for_its_board_is_refused(world: World) -> None:
    world.client("host").post(
        "/v1/leagues",
        {"slug": "narrow", "title": "Narrow", "game": "battlesnake", "visibility": "private"},
    )
    answer = world.http.post(
        "/v1/leagues/narrow/seasons",
        json={"configuration": {"width": 5, "height": 5, "maxTurns": 100}, "seats": 9},
        headers={"Authorization": f"Bearer {world.tokens['host']}"},
    )
    assert answer.status_code == 422
    assert "body.seats: a board of 5x5 is for at most 8 snakes" in answer.json()["detail"]


def test_a_request_of_two_lengths_gets_one_answer(world: World) -> None:
    second = b"GET /v1/games HTTP/1.1\r\nHost: here\r\n\r\n"
    body = b"0\r\n\r\n" + second
    head = (
        "POST /v1/sign-up HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    address = world.http.base_url
    with socket.create_connection((address.host, address.port or 80), timeout=30) as connection:
        connection.sendall(head.encode() + body)
        answers = b"".join(iter(lambda: connection.recv(65536), b""))  # until it is closed
    assert answers.startswith(b"HTTP/1.1 400")
    assert answers.count(b"HTTP/1.1 ") == 1
    assert b"Send Content-Length or Transfer-Encoding, not both." in answers
