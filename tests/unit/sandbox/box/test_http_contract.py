"""Valid and broken answers of a server, read by the caller in the box.

The conversation with a Battlesnake server, over any transport.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from sandbox.box.agent_program import ContractBroken
from sandbox.box.bundle_manifest import Contract
from sandbox.box.harness import _ProgramAgent
from sandbox.box.http_contract import (
    BattlesnakeConversation,
    HttpClient,
    _AnswerReader,
    connect_local,
)

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


START = {"k": "start", "seed": "00" * 16, "load": "own", "clock": {"act_seconds": 0.5}}
BOARD: dict[str, Any] = {"width": 9, "height": 9, "food": [], "snakes": []}
SEEN: dict[str, Any] = {"game": {"id": "g"}, "turn": 0, "board": BOARD, "you": {"id": "s0"}}


def _seen(*snakes: str) -> dict[str, Any]:
    """The observation of the first of these snakes."""
    told = [
        {"id": name, "name": name, "latency": "0", "health": 90, "body": [{"x": 1, "y": 2}]}
        for name in snakes
    ]
    board = {**BOARD, "snakes": told}
    game = {"id": "g", "timeout": 500}
    return {**SEEN, "game": game, "board": board, "you": dict(told[0]), "remainingOverageTime": 0.0}


class Line:
    """A transport that returns a prepared result for each request."""

    takes_seconds = 0.0

    def __init__(self, *fates: Exception | None) -> None:
        self._fates = iter(fates)
        self.asked: list[tuple[str, float | None]] = []
        self.bodies: list[dict[str, Any]] = []
        self.answer = b'{"move": "up"}'

    def call(self, method: str, path: str, body: str, seconds: float | None) -> tuple[int, bytes]:
        self.asked.append((path, seconds))
        if path == "/move":
            time.sleep(self.takes_seconds)
        fate = None if path == "/start" else next(self._fates)
        if fate is not None:
            raise fate
        self.bodies.append(json.loads(body))
        return 200, self.answer


def test_consecutive_late_requests_get_extra_time_once() -> None:
    late = [ContractBroken("late", is_late=True) for _ in range(3)]
    line = Line(*late, None, ContractBroken("no answer of HTTP"), None)
    conversation = BattlesnakeConversation("1", line.call)
    conversation.start(START)
    for _ in late:
        with pytest.raises(ContractBroken):
            conversation.move({**SEEN, "remainingOverageTime": 2.0})
    assert conversation.move({**SEEN, "remainingOverageTime": 2.0}) == {"move": "up"}
    with pytest.raises(ContractBroken):
        conversation.move({**SEEN, "remainingOverageTime": 2.0})
    conversation.move({**SEEN, "remainingOverageTime": 2.0})
    moves = [seconds for path, seconds in line.asked if path == "/move"]
    assert moves == pytest.approx([2.6, 2.5, 2.5, 2.5, 2.6, 2.6], abs=0.04)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (ContractBroken("in vain", is_late=True), {"is_late": True}),
        (ContractBroken("in vain"), {}),
        (ContractBroken("in vain", is_gone=True), {"is_gone": True}),
    ],
)
def test_the_referee_gets_the_outcome_of_a_failed_request(
    broken: ContractBroken, told: dict[str, Any]
) -> None:
    kept = _ProgramAgent(Contract.HTTP, BattlesnakeConversation("1", Line(broken).call))
    kept.start({**START, "load": "first_move"})
    kept._is_open = True  # there is no program to open
    kept._speaker.start(START)
    answer = kept.act({"n": 7, "observation": {**SEEN, "remainingOverageTime": 0.0}})
    flags = {"is_gone": False, "is_invalid": False, "is_late": False}
    assert answer == {"k": "fault", "n": 7, "why": "in vain"} | flags | told


def test_own_snake_shows_the_latency_of_the_last_answer() -> None:
    line = Line(None, None, ContractBroken("late", is_late=True), None)
    line.takes_seconds = 0.02
    conversation = BattlesnakeConversation("1", line.call)
    conversation.start(START)
    for move in range(4):
        if move == 2:
            with pytest.raises(ContractBroken):
                conversation.move(_seen("s0", "s1"))
        else:
            conversation.move(_seen("s0", "s1"))
    first, second, after_late = [body for body in line.bodies if body["board"]["snakes"]][1:]
    assert first["you"]["latency"] == "0"
    assert int(second["you"]["latency"]) >= 20
    assert [int(one["latency"]) >= 20 for one in second["board"]["snakes"]] == [True, False]
    assert after_late["you"]["latency"] == "500"


def test_the_2017_api_shows_dead_snakes_as_last_seen() -> None:
    line = Line(None, None)
    conversation = BattlesnakeConversation("2017", line.call)
    conversation.start(START)
    conversation.move(_seen("s0", "s1"))
    conversation.move(_seen("s0"))
    *_, first, second = line.bodies
    assert first["dead_snakes"] == []
    assert second["dead_snakes"] == [
        {"id": "s1", "name": "s1", "taunt": "", "health_points": 90, "coords": [[1, 6]]}
    ]


@pytest.mark.parametrize("answer", [b'"up"', b'["up"]', b"7", b"null", b"up"])
def test_an_answer_that_is_not_an_object_is_invalid(answer: bytes) -> None:
    line = Line(None)
    line.answer = answer
    conversation = BattlesnakeConversation("1", line.call)
    conversation.start(START)
    with pytest.raises(ContractBroken, match="no JSON object") as raised:
        conversation.move(_seen("s0"))
    assert raised.value.is_invalid
