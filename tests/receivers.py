"""A real HTTP server that receives webhooks, and answers by the path of the request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from egress.guarded_connections import Rules

ALLOW, PORTS = "127.0.0.0/8", "1024-65535"
ENVIRONMENT = {"PECK_EGRESS_ALLOW": ALLOW, "PECK_EGRESS_PORTS": PORTS}
"""Variables that permit calls to this server."""
RULES = Rules.from_environment(ENVIRONMENT)


@dataclass(frozen=True)
class ReceivedCall:
    """One request that arrived."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    at: float
    """Time of arrival, by ``time.time``."""

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """The server. ``answers`` maps a path to a status; others get 200."""

    port: int
    calls: list[ReceivedCall] = field(default_factory=list)
    answers: dict[str, int] = field(default_factory=dict)
    answer_headers: dict[str, str] = field(default_factory=dict)
    answer_body: bytes = b"ok"
    slow_seconds: float = 0.0
    """How long ``/slow`` waits before its answer. ``/dead`` never answers."""
    ended: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def calls_of(self, path: str) -> list[ReceivedCall]:
        return [call for call in list(self.calls) if call.path == path]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    receiver: Receiver


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver.calls.append(ReceivedCall(self.path, headers, body, time.time()))
        if self.path.startswith("/dead"):
            receiver.ended.wait(60)
            return
        if self.path.startswith("/slow"):
            receiver.ended.wait(receiver.slow_seconds)
        self.send_response(receiver.answers.get(self.path, 200))
        for name, value in receiver.answer_headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(receiver.answer_body)))
        self.end_headers()
        self.wfile.write(receiver.answer_body)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A running receiver."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.receiver = Receiver(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.receiver
    finally:
        server.receiver.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
