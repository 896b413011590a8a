"""Many readers of streams in one process that takes little of the processor.

Each reader is a socket. All of them count events; a sample of them notes when each frame came.
"""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

PLACE = re.compile(rb"id: \d+\.\d+\.(\d+)\n")
EVENT = b"event: frames"
TAIL = 60
"""Bytes kept of a sampled stream, so that an id in two parts is found."""
OPENING = 30
"""Requests without an answer at a time."""
OPEN_SECONDS = 120.0
SMALL_BUFFER = 4096


@dataclass
class Reader:
    """One stream."""

    match: int
    """Number of the match."""
    is_sampled: bool
    socket: socket.socket
    events: int = 0
    tail: bytes = b""
    came: list[tuple[int, float]] = field(default_factory=list)
    """Frames after an event, and the time in seconds of ``time.monotonic``."""

    def take(self, chunk: bytes) -> None:
        self.events += chunk.count(EVENT)
        if not self.is_sampled:
            return
        now = time.monotonic()
        found = PLACE.findall(self.tail + chunk)
        self.tail = chunk[-TAIL:]
        if found and (not self.came or int(found[-1]) > self.came[-1][0]):
            self.came.append((int(found[-1]), now))


class Readers:
    """Open streams of one server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._poll = select.epoll()
        self._readers: dict[int, Reader] = {}
        self._asleep: list[socket.socket] = []

    def open(self, paths: Sequence[str], *, sampled: int) -> None:
        """Opens so many streams, of which each ``sampled``-th is sampled. Raises on a refusal."""
        until = time.monotonic() + OPEN_SECONDS
        waiting: set[int] = set()
        left = list(enumerate(paths))[::-1]
        while left or waiting:
            assert time.monotonic() < until, f"{len(left) + len(waiting)} streams did not open"
            while left and len(waiting) < OPENING:
                number, path = left.pop()
                made = self._connect(path)
                self._readers[made.fileno()] = Reader(number, number % sampled == 0, made)
                self._poll.register(made.fileno(), select.EPOLLIN)
                waiting.add(made.fileno())
            for number in self._read_once(0.1):
                waiting.discard(number)

    def sleep_at(self, path: str) -> None:
        """Opens a stream from which nothing is read."""
        self._asleep.append(self._connect(path, buffer=SMALL_BUFFER))

    def read_until(self, until: float) -> None:
        """Reads all streams until this moment of ``time.monotonic``."""
        while (left := until - time.monotonic()) > 0:
            self._read_once(min(left, 0.1))

    def readers(self) -> list[Reader]:
        """All readers, in the order in which they opened."""
        return list(self._readers.values())

    def close(self) -> None:
        """Closes all streams."""
        self._poll.close()
        for one in (*self._asleep, *(reader.socket for reader in self._readers.values())):
            one.close()

    def _connect(self, path: str, buffer: int = 0) -> socket.socket:
        made = socket.socket()
        if buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        made.connect(("127.0.0.1", self._port))
        made.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        made.setblocking(False)
        return made

    def _read_once(self, seconds: float) -> list[int]:
        """Reads what came; returns the file numbers of these streams."""
        ready = [number for number, _ in self._poll.poll(seconds)]
        for number in ready:
            reader = self._readers[number]
            chunk = reader.socket.recv(1 << 16)
            assert chunk, "a stream ended"
            assert chunk[:9] != b"HTTP/1.1 " or chunk[9:12] == b"200", chunk
            reader.take(chunk)
        return ready
