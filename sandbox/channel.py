"""Questions to match children and their answers: frames over sockets, on the referee's clock.

The clock of a question runs from just before its first byte is written to just after the last byte
of the answer is read. Its deadline is absolute and covers both, so a child that reads nothing, one
that answers a byte at a time and one that is silent meet the same end. What a child writes while
nobody asks it, and anything beyond one answer, is a violation and is never taken for an answer.
"""

from __future__ import annotations

import math
import select
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from time import monotonic
from typing import Final

from sandbox.frames import FROM_CHILD_CAP, TO_CHILD_CAP

HEAD: Final = 4
_READ: Final = HEAD + FROM_CHILD_CAP + 1
_GONE: Final = (ConnectionError, BrokenPipeError)


class Trouble(Enum):
    """Why a question has no answer."""

    CLOSED = "closed"
    """The child's end of the connection is closed."""
    BROKEN = "broken"
    """The child wrote what the protocol does not allow; ``Question.detail`` says what."""
    LATE = "late"
    """The deadline passed."""


class StopReached(Exception):
    """The moment at which all asking ends came before the answers."""


@dataclass(slots=True)
class Question:
    """One frame to one child and what came of it."""

    connection: socket.socket
    """Non-blocking, connected to the child."""
    body: bytes
    allowance_seconds: float
    """The deadline is this long after the first byte is written."""
    answer: bytes | None = None
    """The body of the one frame that came back."""
    trouble: Trouble | None = None
    detail: str = ""
    took_seconds: float = 0.0
    started_at: float = 0.0
    _unsent: memoryview = field(default_factory=lambda: memoryview(b""))
    _buffer: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        if len(self.body) > TO_CHILD_CAP:
            raise ValueError(f"a frame of {len(self.body)} bytes is more than a child may get")

    @property
    def is_settled(self) -> bool:
        """An answer, or a reason why there is none."""
        return self.answer is not None or self.trouble is not None

    def begin(self) -> None:
        """Look for unasked bytes, start the clock, write what the socket takes."""
        try:
            if self.connection.recv(1, socket.MSG_PEEK):
                self._settle(Trouble.BROKEN, "it wrote while nobody asked")
            else:
                self._settle(Trouble.CLOSED)
            return
        except (BlockingIOError, InterruptedError):
            pass
        except _GONE:
            self._settle(Trouble.CLOSED)
            return
        self._unsent = memoryview(len(self.body).to_bytes(HEAD, "big") + self.body)
        self.started_at = monotonic()
        self.write()

    def write(self) -> None:
        """Send on; a child that reads slowly gets the rest when its socket has room."""
        try:
            self._unsent = self._unsent[self.connection.send(self._unsent) :]
        except (BlockingIOError, InterruptedError):
            pass
        except _GONE:
            self._settle(Trouble.CLOSED)

    def read(self) -> None:
        """Take what has arrived; settles the question when it is a whole answer or a wrong one."""
        try:
            data = self.connection.recv(_READ - len(self._buffer))
        except (BlockingIOError, InterruptedError):
            return
        except _GONE:
            data = b""
        now = monotonic()
        if not data:
            self._settle(Trouble.CLOSED, at=now)
            return
        if self._unsent:
            self._settle(Trouble.BROKEN, "it answered before it had read the question", at=now)
            return
        self._buffer += data
        if len(self._buffer) < HEAD:
            return
        length = int.from_bytes(self._buffer[:HEAD], "big")
        if not 0 < length <= FROM_CHILD_CAP:
            self._settle(
                Trouble.BROKEN,
                f"it announced {length} bytes where 1 to {FROM_CHILD_CAP} are allowed",
                at=now,
            )
        elif len(self._buffer) > HEAD + length:
            self._settle(Trouble.BROKEN, "it wrote more than one answer", at=now)
        elif len(self._buffer) == HEAD + length:
            self.took_seconds = now - self.started_at
            self.answer = bytes(self._buffer[HEAD:])

    def expire(self, now: float) -> None:
        """Settle the question as late."""
        self._settle(Trouble.LATE, at=now)

    @property
    def deadline(self) -> float:
        """On the clock of ``time.monotonic``."""
        return self.started_at + self.allowance_seconds

    @property
    def events(self) -> int:
        """What to wait for."""
        return select.POLLIN | (select.POLLOUT if self._unsent else 0)

    def _settle(self, trouble: Trouble, detail: str = "", *, at: float | None = None) -> None:
        self.trouble, self.detail = trouble, detail
        if self.started_at:
            self.took_seconds = (monotonic() if at is None else at) - self.started_at


def ask(questions: Sequence[Question], stop_at: float) -> None:
    """Put all questions at once and return when each is settled.

    Raises StopReached when ``time.monotonic`` passes ``stop_at`` first.
    """
    open_questions: dict[int, Question] = {}
    poll = select.poll()
    for question in questions:
        question.begin()
        if not question.is_settled:
            descriptor = question.connection.fileno()
            open_questions[descriptor] = question
            poll.register(descriptor, question.events)
    while open_questions:
        next_at = min(stop_at, min(question.deadline for question in open_questions.values()))
        ready = poll.poll(max(0, math.ceil((next_at - monotonic()) * 1000)))
        for descriptor, events in ready:
            question = open_questions[descriptor]
            if events & select.POLLOUT:
                question.write()
                poll.modify(descriptor, question.events)
            if events & ~select.POLLOUT and not question.is_settled:
                question.read()
        now = monotonic()
        for descriptor, question in tuple(open_questions.items()):
            if not question.is_settled and now > question.deadline:
                question.expire(now)
            if question.is_settled:
                del open_questions[descriptor]
                poll.unregister(descriptor)
        if open_questions and now > stop_at:
            raise StopReached
