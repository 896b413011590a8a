"""The file for HAProxy: one TLS port for site, Redis and Postgres."""

from __future__ import annotations

import http.client
import http.server
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.certificates import Authority

ROOT = Path(__file__).parents[2]
HOST = "peck.example.org"


class ForwardedSite(http.server.BaseHTTPRequestHandler):
    """Answers with what the proxy says of the client."""

    def do_GET(self) -> None:
        body = self.headers["X-Forwarded-Proto"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass(frozen=True)
class Proxy:
    """A running HAProxy."""

    port: int
    authority: Authority

    def connect(self, name: str) -> ssl.SSLSocket:
        """A connection by TLS that asks for this name."""
        plain = socket.create_connection(("127.0.0.1", self.port), 20)
        return self.authority.trusted().wrap_socket(plain, server_hostname=name)


@pytest.fixture
def proxy(redis_url: str, postgres_url: str, tmp_path: Path) -> Iterator[Proxy]:
    program = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if program is None:
        pytest.skip("haproxy is not installed")
    authority = Authority(tmp_path)
    both = authority.sign(f"DNS:*.{HOST}")
    parts = urlsplit(postgres_url)
    postgres = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.{parts.port or 5432}"
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), ForwardedSite) as site,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        threading.Thread(target=site.serve_forever, daemon=True).start()
        text = (ROOT / "deploy/haproxy.cfg").read_text()
        for before, after in {
            "bind :443": f"bind fd@{listener.fileno()}",
            "/etc/haproxy/peck.pem": str(both),
            "abns@peck-site": f"abns@peck-site-{listener.getsockname()[1]}",
            "127.0.0.1:5432": f"unix@{postgres}",
            "127.0.0.1:6379": f"unix@{unquote(urlsplit(redis_url).path)}",
            "127.0.0.1:8000": f"127.0.0.1:{site.server_port}",
        }.items():
            assert before in text
            text = text.replace(before, after)
        (tmp_path / "haproxy.cfg").write_text(text)
        command = [program, "-f", str(tmp_path / "haproxy.cfg")]
        with subprocess.Popen(command, pass_fds=(listener.fileno(),)) as running:
            yield Proxy(listener.getsockname()[1], authority)
            running.kill()
        site.shutdown()


def test_one_port_leads_to_the_site_by_its_name(proxy: Proxy) -> None:
    with proxy.connect(f"www.{HOST}") as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert (answer.status, answer.read()) == (200, b"https")


def test_one_port_leads_to_redis_by_its_name(proxy: Proxy) -> None:
    with proxy.connect(f"redis.{HOST}") as connection:
        connection.sendall(b"PING\r\n")
        assert connection.recv(64) == b"+PONG\r\n"


def test_one_port_leads_to_postgres_by_its_name(proxy: Proxy, postgres_url: str) -> None:
    address: dict[str, str | int] = {
        "host": f"db.{HOST}",
        "hostaddr": "127.0.0.1",
        "port": proxy.port,
        "sslmode": "verify-full",
        "sslrootcert": str(proxy.authority.certificate),
        "sslnegotiation": "direct",
    }
    with psycopg.connect(make_conninfo(postgres_url, **address)) as conn:
        assert conn.execute("select 1").fetchone() == (1,)
