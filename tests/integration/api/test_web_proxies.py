"""The files for nginx and Caddy in ``deploy/``, before a running site."""

from __future__ import annotations

import http.server
import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from services.api_client import ApiError, Client
from services.cli.insights import follow_feed
from tests import web_proxies
from tests.integration.api.world import GOOD, World
from tests.waiting import wait_until
from tests.web_proxies import WebProxy

Start = Callable[[Path, str, Mapping[str, str] | None], AbstractContextManager[WebProxy]]
STARTS: Mapping[str, Start] = {"nginx": web_proxies.nginx, "caddy": web_proxies.caddy}


@pytest.fixture(params=STARTS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def started(
    kind: str, folder: Path, site: str, changes: Mapping[str, str] | None = None
) -> Iterator[WebProxy]:
    """A web server that accepts connections."""
    with STARTS[kind](folder, urlsplit(site).netloc, changes) as proxy:
        parts = urlsplit(proxy.address)

        def accepts() -> bool:
            with socket.socket() as tried:
                return tried.connect_ex((str(parts.hostname), parts.port or 443)) == 0

        wait_until(accepts, f"{kind} accepts connections")
        yield proxy


@pytest.fixture
def proxy(kind: str, http: httpx.Client, tmp_path: Path) -> Iterator[WebProxy]:
    with started(kind, tmp_path, str(http.base_url)) as running:
        yield running


def client(proxy: WebProxy, token: str | None = None) -> Client:
    """The API behind the web server."""
    trusted = httpx.Client(base_url=proxy.address, verify=proxy.authority.trusted(), timeout=60)
    return Client(proxy.address, token, http=trusted)


def agent_of(member: Client) -> str:
    team = member.get("/v1/me")["teams"][0]["id"]
    return str(member.post("/v1/agents", {"name": "Large", "team": team})["id"])


def test_large_upload_passes(proxy: WebProxy, world: World) -> None:
    with client(proxy, world.tokens["member"]) as member:
        made = member.upload(f"/v1/agents/{agent_of(member)}/submissions", GOOD + b"#" * (8 << 20))
    assert made["submission"]["size_bytes"] == len(GOOD) + (8 << 20)


def test_upload_reaches_the_site_while_it_arrives(kind: str, tmp_path: Path) -> None:
    """The site measures when an upload began, for deadlines."""
    with socket.create_server(("127.0.0.1", 0)) as site:
        address = f"http://127.0.0.1:{site.getsockname()[1]}"
        with started(kind, tmp_path, address) as proxy:
            parts = urlsplit(proxy.address)
            with (
                socket.create_connection((str(parts.hostname), parts.port or 443), 60) as plain,
                proxy.authority.trusted().wrap_socket(plain, server_hostname="127.0.0.1") as way,
            ):
                way.sendall(
                    b"POST /v1/agents/agt_1/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    b"Content-Length: 1000000\r\n\r\n" + b"#" * 1000
                )
                site.settimeout(60)
                with site.accept()[0] as connection:
                    connection.settimeout(60)
                    assert connection.recv(1 << 16).startswith(b"POST /v1/agents")


def test_stream_begins_at_once(proxy: WebProxy, world: World) -> None:
    with (
        client(proxy, world.tokens["member"]) as member,
        member.http.stream("GET", "/v1/me/feed/stream", headers=member.headers) as answer,
    ):
        assert next(answer.iter_lines()).startswith("retry:")


class EchoedHeaders(http.server.BaseHTTPRequestHandler):
    """Answers with the headers of the request."""

    def do_GET(self) -> None:
        body = json.dumps({name.lower(): text for name, text in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_proxy_names_the_visitor_itself(kind: str, tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), EchoedHeaders) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        with started(kind, tmp_path, f"http://127.0.0.1:{site.server_port}") as proxy:
            sent = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "http"}
            with client(proxy) as visitor:
                headers = visitor.send("GET", "/", headers=sent).json()
        site.shutdown()
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["x-forwarded-proto"] == "https"
    assert f"https://{headers['host']}" == proxy.address


def test_limit_of_the_web_server_is_named(http: httpx.Client, world: World, tmp_path: Path) -> None:
    small = {"client_max_body_size 0;": ""}  # then nginx takes 1 MB
    with (
        started("nginx", tmp_path, str(http.base_url), small) as proxy,
        client(proxy, world.tokens["member"]) as member,
    ):
        agent = agent_of(member)
        with pytest.raises(ApiError, match="client_max_body_size") as caught:
            member.upload(f"/v1/agents/{agent}/submissions", GOOD + b"#" * (2 << 20))
    assert caught.value.status == 413


def test_site_that_does_not_answer_is_named(kind: str, tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as unused,
        started(kind, tmp_path, f"http://127.0.0.1:{unused.getsockname()[1]}") as proxy,
    ):
        unused.close()
        with client(proxy) as visitor, pytest.raises(ApiError, match="behind it") as caught:
            visitor.get("/v1/leagues")
    assert caught.value.status == 502


class Relay(socketserver.ThreadingTCPServer):
    """Passes connections on to a site. Refuses them until `start`."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, site: str) -> None:
        super().__init__(("127.0.0.1", 0), RelayedConnection, bind_and_activate=False)
        self.site = (urlsplit(site).hostname, urlsplit(site).port)
        self.server_bind()
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def start(self) -> None:
        self.server_activate()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class RelayedConnection(socketserver.BaseRequestHandler):
    server: Relay

    def handle(self) -> None:
        with socket.create_connection(self.server.site) as site:
            threading.Thread(target=copy, args=(self.request, site), daemon=True).start()
            copy(site, self.request)


def copy(source: socket.socket, target: socket.socket) -> None:
    """Copies until one side closes."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_client_follows_the_feed_beyond_an_absence_of_the_site(
    kind: str, http: httpx.Client, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.cli.insights.AGAIN_SECONDS", 0.1)
    newest, before, *_ = world.client("member").list_items("/v1/me/feed")
    statuses: list[int] = []
    with (
        Relay(str(http.base_url)) as relay,
        started(kind, tmp_path, relay.address) as proxy,
        client(proxy, world.tokens["member"]) as member,
    ):

        def start_site(answer: httpx.Response) -> None:
            statuses.append(answer.status_code)
            if len(statuses) == 1:
                relay.start()

        member.http.event_hooks = {"response": [start_site]}
        assert next(follow_feed(member, before["key"])) == newest
        relay.shutdown()
    assert statuses[0] == 502


def test_export_names_a_site_that_does_not_answer(kind: str, tmp_path: Path) -> None:
    with (
        Relay("http://127.0.0.1:1") as absent,
        started(kind, tmp_path, absent.address) as proxy,
        client(proxy) as visitor,
        pytest.raises(ApiError, match="behind it"),
    ):
        visitor.download("/v1/users/me/export", tmp_path / "mine.zip")
    assert not (tmp_path / "mine.zip").exists()
