"""Valid and broken answers of a server, read by the caller in the box."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from sandbox.box.agent_program import ContractBroken
from sandbox.box.http_contract import HttpClient, _AnswerReader, connect_local

Serve = Callable[[Sequence[bytes]], HttpClient]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SIZES = (b"0x4", b"+4", b"0_4", b" 4", b"-0", b"000000004", b"", b";x")
"""Spellings of the size four that no chunk may have."""


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A caller of a server that sends the next of these answers to each request, then closes."""
    listeners: list[socket.socket] = []
    callers: list[HttpClient] = []

    def listen(answers: Sequence[bytes]) -> HttpClient:
        name = f"\0peck-test-{secrets.token_hex(8)}"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(name)
        listener.listen()
        listeners.append(listener)

        def run() -> None:
            left = list(answers)
            while left:
                try:
                    line, _ = listener.accept()
                except OSError:
                    return
                with line:
                    while left and line.recv(1 << 16):
                        answer = left.pop(0)
                        line.sendall(answer)
                        if b"close" in answer or b"HTTP/1.0" in answer:
                            break

        threading.Thread(target=run, daemon=True).start()
        caller = HttpClient(connect_local(lambda: (name,)))
        callers.append(caller)
        assert caller.try_connect()
        return caller

    yield listen
    for caller in callers:
        caller.close()
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    "answer",
    [
        OK + b'"up"',
        b'HTTP/1.0 200 OK\r\n\r\n"up"',
        b'HTTP/1.1 200\r\nConnection: close\r\n\r\n"up"',
        b'HTTP/1.1 200 OK\r\nTRANSFER-encoding: Chunked\r\n\r\n1\r\n"\r\n3;x=y\r\nup"\r\n0\r\n\r\n',
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b'"up"',
        CHUNKED + b'4 ;x\r\n"up"\r\n00\r\nExpires: never\r\nX-Sum: 1\r\n\r\n',
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\ncontent-length: 4\r\n\r\n" + b'"up"',
    ],
)
def test_every_http_framing_of_an_answer_is_read(serve: Serve, answer: bytes) -> None:
    caller = serve([answer] * 3)
    for _ in range(3):
        assert caller.call("POST", "/move", "{}", 5.0) == (200, b'"up"')


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"up", "no answer of HTTP"),
        (b"HTTP/2 200 OK\r\n\r\n", "no answer of HTTP"),
        (b"HTTP/1.1 2e2 OK\r\n\r\n", "no answer of HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 9000, "headers are longer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length is b'-1'"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", "at most 12288"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunks"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", "chunks"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc", "chunks"),
        *[(CHUNKED + size + b'\r\n"up"\r\n0\r\n\r\n', "chunks") for size in SIZES],
        (CHUNKED + b"0\r\nno field\r\n\r\n", "chunks"),
        (CHUNKED + b"0\r\n" + b"x: y\r\n" * 9000, "chunks"),
        (CHUNKED + b"0\r\nx: " + b"y" * 20_000, "trailers are longer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", "two different"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 20_000, "longer than 12288"),
        (OK + b'"up""up"', "after its answer"),
        (b"HTTP/1.1 102 Wait\r\n\r\n" * 5, "again and again"),
    ],
)
def test_a_broken_answer_is_reported_with_a_remedy(serve: Serve, answer: bytes, words: str) -> None:
    with pytest.raises(ContractBroken, match=r"answer each request once") as broken:
        serve([answer]).call("POST", "/move", "{}", 5.0)
    assert words in broken.value.why
    assert not broken.value.is_gone
    assert not broken.value.is_late


def test_a_silent_server_times_out(serve: Serve) -> None:
    with pytest.raises(ContractBroken, match=r"no answer within 0\.05 s") as broken:
        serve([b"", b""]).call("GET", "/", "", 0.05)
    assert broken.value.is_late


def test_waiting_for_a_core_extends_the_read_timeout() -> None:
    waited = iter([1.0, 61.0, 61.0, 1.0])
    ours, theirs = socket.socketpair()
    with ours, theirs, _AnswerReader(ours, time.monotonic(), lambda: next(waited)) as reading:
        theirs.sendall(OK + b'"up"')
        assert reading.answer() == (200, b'"up"', True)
        with pytest.raises(TimeoutError):
            reading.answer()


def test_a_dropped_connection_is_a_connection_error(
    serve: Serve,
) -> None:
    caller = serve([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nshort"])
    with pytest.raises(ConnectionError):
        caller.call("GET", "/", "", 5.0)
    assert not HttpClient(connect_local(lambda: ("\0peck-nobody-listens",))).try_connect()


def test_a_request_on_a_closed_idle_connection_is_retried_once() -> None:
    """The server's idle time ends while the request is on its way."""
    name = f"\0peck-test-{secrets.token_hex(8)}"
    heard: list[bytes] = []

    def run() -> None:
        for answers in (1, 0, 1):
            line, _ = listener.accept()
            with line:
                for turn in range(2):
                    heard.append(line.recv(1 << 16)[:12])
                    if turn >= answers:
                        break
                    line.sendall(OK + b'"up"')

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        caller = HttpClient(connect_local(lambda: (name,)))
        assert caller.try_connect()
        caller.call("POST", "/a", "", 5.0)
        with pytest.raises(ConnectionError):  # after two closed connections the server is at fault
            caller.call("POST", "/b", "", 5.0)
        assert caller.call("POST", "/c", "", 5.0) == (200, b'"up"')
        caller.close()
        thread.join()
    assert heard == [b"POST /a HTTP", b"POST /b HTTP", b"POST /b HTTP", b"POST /c HTTP", b""]


def test_thin_gets_a_fresh_connection_for_each_request() -> None:
    name = f"\0peck-test-{secrets.token_hex(8)}"
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nServer: thin\r\n\r\n"up"'
    used: list[socket.socket] = []

    def run() -> None:
        for _ in range(3):
            line, _address = listener.accept()
            used.append(line)
            line.recv(1 << 16)
            line.sendall(answer)  # it leaves the connection open, and reads nothing more from it

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        threading.Thread(target=run, daemon=True).start()
        caller = HttpClient(connect_local(lambda: (name,)))
        for _ in range(3):
            assert caller.call("POST", "/move", "{}", 5.0) == (200, b'"up"')
    caller.close()
    for line in used:
        line.close()
