"""Hostile servers of remote agents, each with the expected end of its seat."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from games.protocol import Verdict
from sandbox.match.clock import Clock
from tests.integration.sandbox.remotes import ok

CLOCK = Clock(act_seconds=2.5, bank_seconds=0.0, load="own", load_seconds=30.0)
"""Long enough for a loaded machine; three servers use it up."""
TIMED_OUT = f"within the time of the clock|{CLOCK.act_seconds} s and the"


@dataclass(frozen=True)
class Hostile:
    """A server's behaviour at a question for a move, and the expected end."""

    name: str
    verdict: Verdict
    reason: str
    move: Callable[[socket.socket], None]
    answers: bool = False

    def answer(self, line: socket.socket, path: str, body: bytes) -> None:
        if path == "/move":
            self.move(line)
        else:
            ok(line)


def repeat(first: bytes, piece: bytes, seconds: float = 0.0) -> Callable[[socket.socket], None]:
    def send(line: socket.socket) -> None:
        line.sendall(first)
        for _ in range(1_000_000):
            line.sendall(piece)
            time.sleep(seconds)

    return send


def _once(answer: bytes) -> Callable[[socket.socket], None]:
    return lambda line: line.sendall(answer)


def _hang_up(after: bytes) -> Callable[[socket.socket], None]:
    def send(line: socket.socket) -> None:
        line.sendall(after)
        line.shutdown(socket.SHUT_RDWR)

    return send


TRASH_SENT = threading.Event()


def _trash_later(line: socket.socket) -> None:
    ok(line)
    time.sleep(0.1)
    line.sendall(b"and another thing")
    TRASH_SENT.set()


def moved(status: int, where: str) -> bytes:
    head = f"HTTP/1.1 {status} Moved\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n"
    return head.encode()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PACKED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08"
HOSTILE = (
    Hostile("drips its head", Verdict.TIMEOUT, TIMED_OUT,
            repeat(b"HTTP/1.1 200 ", b"x", 0.05)),
    Hostile("drips its body", Verdict.TIMEOUT, TIMED_OUT,
            repeat(CHUNKED, b"1\r\n \r\n", 0.05)),
    Hostile("never ends its chunks", Verdict.ERROR, "too long together",
            repeat(CHUNKED, b"400\r\n" + b" " * 1024 + b"\r\n")),
    Hostile("never ends its body", Verdict.ERROR, "longer than 12288 bytes",
            repeat(b"HTTP/1.0 200 OK\r\n\r\n", b"x" * 65536)),
    Hostile("never ends its status line", Verdict.ERROR, "headers are longer than",
            repeat(b"HTTP/1.1 200 ", b"x" * 65536)),
    Hostile("breaks the framing", Verdict.ERROR, "is no answer of HTTP", _once(b"up up up\r\n")),
    Hostile("packs its body", Verdict.ERROR, "in the encoding 'gzip'; answer plain", _once(PACKED)),
    Hostile("redirects to this machine", Verdict.ERROR, "redirects are not followed: submit",
            _once(moved(301, "http://127.0.0.1:22/"))),
    Hostile("redirects to the cloud's secrets", Verdict.ERROR, "to 'http://169.254.169.254/la",
            _once(moved(307, "http://169.254.169.254/latest/meta-data/"))),
    Hostile("answers twice", Verdict.ERROR, "after its answer|before it was asked",
            _once(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\"up\"" * 2)),
    Hostile("closes mid-way", Verdict.ERROR, "POST /move: the connection ended inside",
            _hang_up(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")),
    Hostile("continues for ever", Verdict.ERROR, "answers 100 again and again",
            repeat(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
    Hostile("says nothing", Verdict.TIMEOUT, TIMED_OUT,
            lambda line: time.sleep(2 * CLOCK.act_seconds)),
    Hostile("says no JSON", Verdict.INVALID, "answered with 'north', which is no JSON object",
            lambda line: ok(line, b"north")),
    Hostile("speaks after its answer", Verdict.DONE, "before it was asked", _trash_later, True),
)  # fmt: skip
