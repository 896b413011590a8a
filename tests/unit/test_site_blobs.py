"""A machine asks the site for room, and something else answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from workers.match_attempt import StorageWaits
from workers.site_blobs import SiteBlobs


@contextmanager
def answering(status: int, body: str) -> Iterator[str]:
    """The address of a server that gives each request this answer, as a proxy before a site may."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, "<h1>Back soon</h1>"),
        (200, ""),
        (200, "[]"),
        (200, "7"),
        (200, "{}"),
        (200, '{"faults": null}'),
        (200, '{"faults": [{}]}'),
        (200, '{"faults": ["blobs"]}'),
        (302, ""),
        (403, "<h1>Forbidden</h1>"),
        (404, "{}"),
        (502, "<h1>Bad gateway</h1>"),
    ],
)
def test_a_machine_claims_no_match_after_an_odd_answer_about_room(status: int, body: str) -> None:
    with answering(status, body) as address, closing(SiteBlobs(address, "secret")) as blobs:
        waits = StorageWaits()
        assert not waits.answers(blobs)
        assert not waits.answers(blobs)


def test_a_machine_claims_matches_while_the_site_has_room() -> None:
    faults = '{"status": "degraded", "faults": [{"part": "redis", "text": "Redis is away."}]}'
    with answering(200, faults) as address, closing(SiteBlobs(address, "secret")) as blobs:
        assert StorageWaits().answers(blobs)
