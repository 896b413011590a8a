"""Sends questions to match children, and reads and decodes their answers, on the referee's clock.

The connection is a SOCK_SEQPACKET socket, so a message arrives whole or not at all. The child gets
``start`` and ``act``. It returns ``ready``, ``reply`` or ``error``. *Notices* that a question
expects may come first, once each; they do not stop the clock.

The clock of a question runs from just before the write to just after the read of the answer. The
deadline covers both. So a child that reads nothing and a silent child end alike.

A child may write without a question. The next read takes that packet as the answer. It lacks the
question's number, so ``seat`` refuses it.

If a game forgives a late answer, the child *owes* it at the next question. That question is sent
after the owed answer has come and been dropped. Its clock runs all the while. So a child has at
most one open question, and any extra packet counts as its answer.

All packets of a child are hostile, so they are decoded strictly.
"""

from __future__ import annotations

import math
import select
import socket
from collections.abc import Callable, Sequence
from enum import Enum
from time import monotonic
from typing import Final

import msgspec

from games.protocol import InvalidMove, Json
from sandbox.box.bundle_manifest import Contract
from sandbox.box.harness import UNSENDABLE
from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.move_cost import MoveCost, MoveCosts

TO_CHILD_CAP: Final = 128 << 10
"""Most bytes of one packet to the child: an observation or the configuration."""
FROM_CHILD_CAP: Final = 16 << 10
"""Most bytes of one packet from the child: an answer or the end of a traceback."""
_GONE: Final = (ConnectionError, BrokenPipeError)
_LATER: Final = (BlockingIOError, InterruptedError)


class NoAnswerCause(Enum):
    """Why a question has no answer."""

    CLOSED = "closed"
    """The child closed its end of the connection."""
    BROKEN = "broken"
    """The child broke the protocol; ``Question.detail`` says how."""
    LATE = "late"
    """The deadline passed."""


class StopReached(Exception):
    """The time for all questions ended before the answers came."""


class Question:
    """One packet to one child, and its answer."""

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
        """``connection`` is non-blocking; ``move_costs`` is open for this question.

        The move may cost up to ``limit_seconds``. ``owed`` recognizes the packet that must come and
        be dropped before the question is sent. ``notices`` may come in this order; each is removed
        from the list when it comes. Raises ValueError for a body that is too long.
        """
        if len(body) > TO_CHILD_CAP:
            raise ValueError(f"a packet of {len(body)} bytes is too long for a child")
        self.connection, self.body = connection, body
        self.limit_seconds = limit_seconds
        self.started_at = 0.0
        self.answer: bytes | None = None
        """The packet that came back."""
        self.trouble: NoAnswerCause | None = None
        self.detail = ""
        self.cost = MoveCost(0.0, None, 0.0, 0.0)
        self.is_put = False
        """Whether the packet was written to the child's socket."""
        self._move_costs, self._owed, self._notices = move_costs, owed, notices
        self._look_after_seconds = limit_seconds

    @property
    def is_settled(self) -> bool:
        """Whether there is an answer, or a reason for its absence."""
        return self.answer is not None or self.trouble is not None

    def begin(self) -> None:
        """Start the clock. Writes the packet if no answer is owed."""
        self.started_at = monotonic()
        if self._owed is None and self._put():
            self._move_costs.sent(self.started_at, monotonic())

    def read(self) -> None:
        """Read the packet that has arrived."""
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

    def check_lateness(self, now: float) -> None:
        """After ``next_check_at``: wait longer, or settle the question as late.

        An agent that waited for a core gets the rest of its time. This repeats while its waiting is
        forgiven.
        """
        more = self._move_costs.remaining_wait_seconds(self.started_at, now, self.limit_seconds)
        if more > 0:
            self._look_after_seconds = now - self.started_at + more
        else:
            self._settle(NoAnswerCause.LATE)

    @property
    def next_check_at(self) -> float:
        """When to call ``check_lateness`` next, on the clock of ``time.monotonic``."""
        return self.started_at + self._look_after_seconds

    def _put(self) -> bool:
        try:
            self.connection.send(self.body)
        except _LATER:
            # The socket is full only if the child answered packets without reading them.
            self._settle(NoAnswerCause.BROKEN, "it answered without reading its messages")
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
    """Send all questions at once and return when each is settled. ``own`` belongs to this thread.

    Raises StopReached if ``time.monotonic`` passes ``stop_at`` first.
    """
    waiting: dict[int, Question] = {}
    poll = select.poll()
    own.mark_asking()
    for question in questions:
        question.begin()
        if question.trouble is None:
            descriptor = question.connection.fileno()
            waiting[descriptor] = question
            poll.register(descriptor, select.POLLIN)
    look_at = min((question.next_check_at for question in waiting.values()), default=0.0)
    while waiting:
        until = min(stop_at, look_at)
        own.mark_blocking()
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
                if now > question.next_check_at:
                    question.check_lateness(now)
                if question.trouble is None:
                    look_at = min(look_at, question.next_check_at)
                else:
                    del waiting[descriptor]
                    poll.unregister(descriptor)
        if waiting and now > stop_at:
            raise StopReached


DEEPEST: Final = 16
"""Most levels of nested lists in an answer. No game's move comes near."""


class Ready(msgspec.Struct, tag_field="k", tag="ready", forbid_unknown_fields=True):
    contract: Contract = Contract.CALLABLE


class Reply(msgspec.Struct, tag_field="k", tag="reply", forbid_unknown_fields=True):
    n: int
    action: msgspec.Raw


class Failed(msgspec.Struct, tag_field="k", tag="error", forbid_unknown_fields=True):
    trace: str
    n: int | None = None


class ProgramFault(msgspec.Struct, tag_field="k", tag="fault", forbid_unknown_fields=True):
    """A fault of the agent's program, as the child's side of the contract reports it."""

    why: str
    is_gone: bool
    is_invalid: bool
    is_late: bool
    n: int | None = None


_DECODER: Final = msgspec.json.Decoder(Ready | Reply | Failed | ProgramFault)
MALFORMED: Final = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)


def decode_packet(packet: bytes) -> Ready | Reply | Failed | ProgramFault:
    """Decode the frame in a packet. Raises one of ``MALFORMED`` if the packet holds no frame."""
    frame: Ready | Reply | Failed | ProgramFault = _DECODER.decode(packet)
    return frame


def read_action(raw: msgspec.Raw) -> Json:
    """Decode the answer as plain JSON. Raises InvalidMove otherwise."""
    try:
        action = msgspec.json.decode(raw)
    except MALFORMED as error:
        raise InvalidMove(f"the answer is no plain JSON value ({error})") from None
    if isinstance(action, dict) and UNSENDABLE in action:
        raise InvalidMove(f"the answer cannot be written as JSON ({action[UNSENDABLE]!r:.200})")
    if not _is_plain(action, DEEPEST):
        raise InvalidMove("the answer is nested too deep or has a number that is not finite")
    return action


def _is_plain(value: Json, depth: int) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value)
    if isinstance(value, dict):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value.values())
    return True
