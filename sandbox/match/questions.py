"""Questions to match children and their answers: packets over sockets, on the referee's clock.

The connection is a SOCK_SEQPACKET: one packet is one message, whole or not at all. To the child go
``start`` and ``act``; back come ``ready``, ``reply`` and ``error``. Before one of them the
*notices* that the question expects may come, once each: they answer nothing and stop no clock. The
clock of a question runs from just before its packet is written to just after the answer's is read.
Its deadline covers both, so a child that reads nothing and one that is silent meet the same end.
What a child writes while nobody asks it lies before its next answer and is read in that answer's
place, where it does not carry the question's number: the seat's judge (``seat``) refuses it.

Where a game forgives a late answer, the child *owes* it when it is asked the next time. The next
question is put once what is owed has come and been dropped, and its clock runs all the while: so a
child never has more than one question to answer, and a second packet that is not asked for is read
as its answer.
"""

from __future__ import annotations

import math
import select
import socket
from collections.abc import Callable, Sequence
from enum import Enum
from time import monotonic
from typing import Final

from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.move_cost import MoveCost, MoveCosts

TO_CHILD_CAP: Final = 128 << 10
"""Most bytes of one packet to the child: an observation, or the configuration."""
FROM_CHILD_CAP: Final = 16 << 10
"""Most bytes of one packet from the child: an answer, or the last lines of a traceback."""
_GONE: Final = (ConnectionError, BrokenPipeError)
_LATER: Final = (BlockingIOError, InterruptedError)


class NoAnswerCause(Enum):
    """Why a question has no answer."""

    CLOSED = "closed"
    """The child's end of the connection is closed."""
    BROKEN = "broken"
    """The child did what the protocol does not allow; ``Question.detail`` says what."""
    LATE = "late"
    """The deadline passed."""


class StopReached(Exception):
    """The moment at which all asking ends came before the answers."""


class Question:
    """One packet to one child and what came of it."""

    __slots__ = (
        "_look_after_seconds",
        "_move_costs",
        "_notices",
        "_owed",
        "answer",
        "body",
        "connection",
        "cost",
        "detail",
        "is_put",
        "limit_seconds",
        "started_at",
        "trouble",
    )

    def __init__(
        self,
        connection: socket.socket,
        body: bytes,
        limit_seconds: float,
        move_costs: MoveCosts,
        owed: Callable[[bytes], bool] | None = None,
        notices: list[bytes] | None = None,
    ) -> None:
        """``connection`` is non-blocking; ``move_costs`` has been opened for this question, and its
        cost may be up to ``limit_seconds``. ``owed`` tells the one packet that must come and be
        dropped before the question is put. ``notices`` may come in this order; each that has come
        is taken out of the list. Raises ValueError for a body that is too long."""
        if len(body) > TO_CHILD_CAP:
            raise ValueError(f"a packet of {len(body)} bytes is more than a child may get")
        self.connection, self.body = connection, body
        self.limit_seconds = limit_seconds
        self.started_at = 0.0
        self.answer: bytes | None = None
        """The one packet that came back."""
        self.trouble: NoAnswerCause | None = None
        self.detail = ""
        self.cost = MoveCost(0.0, None, 0.0, 0.0)
        self.is_put = False
        """Whether the child has it, or will find it."""
        self._move_costs, self._owed, self._notices = move_costs, owed, notices
        self._look_after_seconds = limit_seconds

    @property
    def is_settled(self) -> bool:
        """An answer, or a reason why there is none."""
        return self.answer is not None or self.trouble is not None

    def begin(self) -> None:
        """Start the clock and write the packet, where nothing is owed."""
        self.started_at = monotonic()
        if self._owed is None and self._put():
            self._move_costs.sent(self.started_at, monotonic())

    def read(self) -> None:
        """Take the packet that has arrived."""
        try:
            packet = self.connection.recv(FROM_CHILD_CAP + 1)
        except _LATER:
            return
        except _GONE:
            packet = b""
        if not packet:
            self._settle(NoAnswerCause.CLOSED)
        elif self._notices and packet == self._notices[0]:
            del self._notices[0]
        elif self._owed is not None and self._owed(packet):
            self._owed = None
            self._put()
        elif len(packet) > FROM_CHILD_CAP:
            self._settle(
                NoAnswerCause.BROKEN,
                f"it answered with more than the {FROM_CHILD_CAP} bytes allowed",
            )
        else:
            now = monotonic()
            self.answer = packet
            self.cost = self._move_costs.close(self.started_at, now)

    def look(self, now: float) -> None:
        """Once ``look_at`` has passed: go on waiting, or settle the question as late.

        An agent that waited for a core has not had its time yet. It gets the rest, repeatedly, as
        long as its waiting is forgiven.
        """
        more = self._move_costs.more_seconds(self.started_at, now, self.limit_seconds)
        if more > 0:
            self._look_after_seconds = now - self.started_at + more
        else:
            self._settle(NoAnswerCause.LATE)

    @property
    def look_at(self) -> float:
        """On the clock of ``time.monotonic``."""
        return self.started_at + self._look_after_seconds

    def _put(self) -> bool:
        try:
            self.connection.send(self.body)
        except _LATER:
            # A socket is full only while packets lie in it that were answered without being read.
            self._settle(NoAnswerCause.BROKEN, "it answered without reading what it was told")
        except _GONE:
            self._settle(NoAnswerCause.CLOSED)
        else:
            self.is_put = True
        return self.is_put

    def _settle(self, trouble: NoAnswerCause, detail: str = "") -> None:
        now = monotonic()
        self.trouble, self.detail = trouble, detail
        self.cost = self._move_costs.close(self.started_at, now)


def ask_all(questions: Sequence[Question], own: OwnRunQueue, stop_at: float) -> None:
    """Put all questions at once and return when each is settled; ``own`` is of this thread.

    Raises StopReached when ``time.monotonic`` passes ``stop_at`` first.
    """
    waiting: dict[int, Question] = {}
    poll = select.poll()
    own.asks()
    for question in questions:
        question.begin()
        if question.trouble is None:
            descriptor = question.connection.fileno()
            waiting[descriptor] = question
            poll.register(descriptor, select.POLLIN)
    look_at = min((question.look_at for question in waiting.values()), default=0.0)
    while waiting:
        until = min(stop_at, look_at)
        own.blocks()
        ready = poll.poll(max(0, math.ceil((until - monotonic()) * 1000)))
        for descriptor, _ in ready:
            question = waiting[descriptor]
            question.read()
            if question.is_settled:
                del waiting[descriptor]
                poll.unregister(descriptor)
        if not waiting:
            return
        now = monotonic()
        if now > look_at:
            look_at = math.inf
            for descriptor, question in tuple(waiting.items()):
                if now > question.look_at:
                    question.look(now)
                if question.trouble is None:
                    look_at = min(look_at, question.look_at)
                else:
                    del waiting[descriptor]
                    poll.unregister(descriptor)
        if waiting and now > stop_at:
            raise StopReached
