"""One bounded HTTP request through the guard, against a server of raw bytes."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from egress.address import AddressError
from egress.guarded_connections import Forbidden, Rules
from egress.http_calls import Answer, AnswerError, Call, send_call, split_url

RULES = Rules(allow=(ipaddress.ip_network("127.0.0.0/8"),), ports=((1, 65535),))
GOOD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi"


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server for one connection, and what it was sent."""
    heard: list[bytes] = []
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)

        def run() -> None:
            line, _ = listening.accept()
            with line:
                heard.append(line.recv(65536))
                with contextlib.suppress(OSError):  # the caller has given up
                    serve(line)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", heard
        thread.join(10)


def ask(answer: bytes, call: str = "/", **limits: float) -> tuple[Answer, bytes]:
    with server(lambda line: line.sendall(answer)) as (address, heard):
        got = send_call(Call("GET", address + call), RULES, **limits)  # type: ignore[arg-type]
    return got, heard[0]


def test_a_request_keeps_its_query_and_the_slash_at_its_end() -> None:
    got, sent = ask(GOOD, "/token/?p=a%20b")
    assert (got.status, got.body, got.headers["content-type"]) == (200, b"hi", "text/plain")
    assert sent.startswith(b"GET /token/?p=a%20b HTTP/1.1\r\n")
    assert b"Connection: close\r\n" in sent


def test_a_chunked_answer_is_joined() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert ask(head + b"2\r\nhi\r\n4\r\n you\r\n0\r\n\r\n")[0].body == b"hi you"


@pytest.mark.parametrize(
    "answer",
    [b"", b"hello", b"HTTP/1.1 abc\r\n\r\n", GOOD[:-1], b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200,
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
)  # fmt: skip
def test_a_broken_answer_is_an_error(answer: bytes) -> None:
    with pytest.raises(AnswerError, match="cannot be read"):
        ask(answer)


def test_a_long_answer_is_an_error() -> None:
    with pytest.raises(AnswerError, match="longer than 1000 bytes"):
        ask(GOOD[:-2] + b"x" * 2000, most_bytes=1000)


def test_an_answer_that_drips_ends_at_the_deadline() -> None:
    def drip(line: socket.socket) -> None:
        for _ in range(50):
            line.sendall(b"H")
            time.sleep(0.05)

    with (
        server(drip) as (address, _),
        pytest.raises(TimeoutError, match="did not answer in time"),
    ):
        send_call(Call("GET", address), RULES, seconds=0.3)


def test_a_private_address_is_refused_without_the_operators_rule() -> None:
    with pytest.raises(Forbidden):
        send_call(Call("GET", "http://127.0.0.1:8000/"), Rules())


@pytest.mark.parametrize("header", ["a\r\nb", "a\nb", "é", "\0"])
def test_a_header_with_a_line_break_is_refused(header: str) -> None:
    for headers in ({"X-Mark": header}, {header: "x"}):
        with pytest.raises(ValueError, match="no header"):
            send_call(Call("GET", "http://127.0.0.1:9/", headers), RULES)


@pytest.mark.parametrize(
    "url", ["http://a.example/x?a b", "http://a.example/?x\r\ny", "ftp://a.b/"]
)
def test_an_odd_url_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        split_url(url)
