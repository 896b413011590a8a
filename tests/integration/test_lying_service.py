"""`peck` against services that lie: it takes only what it asked for, from one origin, printable."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests import typed

TOKEN = "peck_secret"
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eabc\r\x08\ud800"
"""A title, a cleared screen, colours, reversed text, an overwritten line, and half a character."""
MATCH = "mat_01j8x6m3c2k4v9q0w7r5t1y8z3"
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Lies:
    """What a service answers by path, and the requests that it got."""

    address: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    seen: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)


@contextmanager
def lying() -> Iterator[Lies]:
    lies = Lies()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            lies.seen.append((self.path, dict(self.headers)))
            answer = lies.answers.get(self.path.partition("?")[0], (404, {}, b"{}"))
            if not isinstance(answer, tuple):
                answer = (200, {}, json.dumps(answer).encode())
            status, headers, body = answer
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    lies.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield lies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def service() -> Iterator[Lies]:
    with lying() as lies:
        yield lies


@pytest.fixture
def elsewhere() -> Iterator[Lies]:
    """Another site, which must hear of nothing."""
    with lying() as lies:
        yield lies
        assert lies.seen == []


def peck(lies: Lies, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {"HOME": str(folder), "PECK_URL": lies.address, "PECK_TOKEN": TOKEN}
    return typed.peck(folder, {**variables, "PECK_STATE": str(folder / "state")}, *arguments)


def one_operation(name: str, path: str) -> dict[str, Any]:
    """An OpenAPI document with hostile texts."""
    query = {"in": "query", "name": "q", "schema": {"type": "string", "description": EVIL}}
    told = {"operationId": name, "summary": EVIL, "description": EVIL, "tags": [EVIL]}
    return {"paths": {path: {"get": {**told, "parameters": [query]}}}}


@pytest.mark.parametrize("arguments", [(), ("search", "--help")])
def test_texts_of_a_hostile_document_are_printable(
    service: Lies, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    service.answers["/openapi.json"] = one_operation("search", "/v1/search")
    done = peck(service, tmp_path, "api", *arguments)
    assert done.returncode == 0, done.stderr
    assert "abc" in done.stdout
    assert all(one.isprintable() or one == "\n" for one in done.stdout), repr(done.stdout)


@pytest.mark.parametrize(
    "document",
    [
        *([], 7, {}, {"paths": []}, {"paths": {"/v1/x": {"get": 3}}}, {"paths": {"/v1/x": "y"}}),
        {"paths": {"/v1/x": {"get": {"operationId": "search", "parameters": [{"in": "query"}]}}}},
        {"paths": {"/v1/x": {"get": {"operationId": "search", "parameters": 1}}}},
    ],
)
def test_document_of_a_wrong_shape_is_refused(service: Lies, tmp_path: Path, document: Any) -> None:
    service.answers["/openapi.json"] = document
    done = peck(service, tmp_path, "api", "search", "--help")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("peck: ")


@pytest.mark.parametrize("answer", [[], 7, {}, {"items": 3, "next": None}, {"items": [[]]}])
@pytest.mark.parametrize("command", [("league", "list"), ("whoami",), ("leaderboard", "geese")])
def test_answer_of_a_wrong_shape_gives_an_error_message(
    service: Lies, tmp_path: Path, command: tuple[str, ...], answer: Any
) -> None:
    for path in ("/v1/leagues", "/v1/me", "/v1/seasons/geese"):
        service.answers[path] = answer
    done = peck(service, tmp_path, *command)
    assert done.returncode == 1
    assert done.stderr.startswith("peck: ")
    assert "peck cannot read the answer of GET /v1/" in done.stderr


def test_page_that_links_to_itself_ends(service: Lies, tmp_path: Path) -> None:
    service.answers["/v1/leagues"] = {"items": [], "next": "/v1/leagues"}
    done = peck(service, tmp_path, "league", "list")
    assert done.returncode == 1
    assert "sent a link to a page that it sent before" in done.stderr


def written(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("number", ["../../outside", "/tmp/outside", "a/b", None, [1], 1.5])
def test_wrong_episode_number_writes_no_file(service: Lies, tmp_path: Path, number: Any) -> None:
    service.answers[f"/v1/matches/{MATCH}"] = {
        **{"id": MATCH, "state": "finished", "game": "golad"},
        "episodes": [{"number": number, "position": 0}],
    }
    service.answers[f"/v1/matches/{MATCH}/replay"] = {"format": "peck-replay/1"}
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    done = peck(service, inner, "replay", MATCH)
    assert (done.returncode, written(tmp_path)) == (1, [])
    assert "sent a wrong episode number" in done.stderr


@pytest.mark.parametrize("form", ["{}/v1/leagues", "//{}/v1/leagues", "https://{}/v1/leagues"])
def test_next_page_on_another_site_is_refused(
    service: Lies, elsewhere: Lies, tmp_path: Path, form: str
) -> None:
    host = elsewhere.address if form.startswith("{") else elsewhere.address.partition("//")[2]
    service.answers["/v1/leagues"] = {"items": [], "next": form.format(host)}
    done = peck(service, tmp_path, "league", "list")
    assert done.returncode == 1
    assert "sent a link to another site" in done.stderr


def test_a_next_page_of_the_own_origin_is_read(service: Lies, tmp_path: Path) -> None:
    service.answers["/v1/leagues"] = {"items": [], "next": f"{service.address}/more"}
    service.answers["/more"] = {"items": [], "next": None}
    assert peck(service, tmp_path, "league", "list").returncode == 0
    assert service.seen[-1][0] == "/more"


@pytest.mark.parametrize(
    "arguments",
    [("league", "list"), ("feed", "--follow"), ("api", "export-account", "--out", "mine.zip")],
)
def test_redirect_is_refused_with_its_address(
    service: Lies, elsewhere: Lies, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    moved = (302, {"Location": f"{elsewhere.address}/x"}, b"")
    for path in ("/v1/leagues", "/v1/me/feed/stream", "/v1/users/me/export"):
        service.answers[path] = moved
    service.answers["/v1/me/feed"] = {"items": [], "next": None}
    service.answers["/openapi.json"] = one_operation("export_account", "/v1/users/me/export")
    done = peck(service, tmp_path, *arguments)
    assert done.returncode == 1
    assert f"redirects to {elsewhere.address}/x: use that address" in done.stderr
    assert written(tmp_path) == []


def test_answer_without_json_gives_an_error_message(service: Lies, tmp_path: Path) -> None:
    service.answers["/v1/leagues"] = (200, {}, b"<html>hello</html>")
    done = peck(service, tmp_path, "league", "list")
    assert (done.returncode, "is no JSON" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "path", "answer"),
    [
        (
            ("api", "search", "q=x"),
            "/v1/search",
            {"items": [dict.fromkeys(("kind", "name", EVIL), EVIL)], "next": None, EVIL: EVIL},
        ),
        (
            ("feed",),
            "/v1/me/feed",
            {
                "items": [
                    dict.fromkeys(("key", "kind", "at", "league", "title", "text"), EVIL),
                ],
                "next": None,
            },
        ),
        (
            ("league", "list"),
            "/v1/leagues",
            (409, {}, json.dumps({"detail": EVIL, "field": EVIL, "type": EVIL}).encode()),
        ),
    ],
)
def test_control_characters_from_a_service_are_not_printed(
    service: Lies, tmp_path: Path, arguments: tuple[str, ...], path: str, answer: Any
) -> None:
    service.answers[path] = answer
    service.answers["/openapi.json"] = one_operation("search", "/v1/search")
    done = peck(service, tmp_path, *arguments)
    shown = done.stdout + done.stderr
    assert "abc" in shown
    assert all(one.isprintable() or one == "\n" for one in shown), repr(shown)
