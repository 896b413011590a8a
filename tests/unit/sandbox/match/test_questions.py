"""Questions over real sockets, with the test at the other end."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from time import monotonic

import pytest

from sandbox.match.cpu_meter import CpuMeter, OwnRunQueue
from sandbox.match.move_cost import MoveCosts
from sandbox.match.questions import (
    FROM_CHILD_CAP,
    TO_CHILD_CAP,
    NoAnswerCause,
    Question,
    StopReached,
    ask_all,
)

Pair = tuple[socket.socket, socket.socket]
Child = Callable[[socket.socket], None]
LONG = 60.0
ROOM = 1 << 18


@pytest.fixture
def own() -> Iterator[OwnRunQueue]:
    queue = OwnRunQueue()
    yield queue
    queue.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = _pair()
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.fixture
def asked(pair: Pair, own: OwnRunQueue) -> Callable[..., Question]:
    """Ask while ``child`` plays the other end."""

    def put(child: Child, body: bytes = b"{}", limit: float = LONG) -> Question:
        question = _question(pair[0], own, body, limit)
        thread = threading.Thread(target=child, args=(pair[1],))
        thread.start()
        try:
            ask_all([question], own, monotonic() + LONG)
        finally:
            pair[0].shutdown(socket.SHUT_RDWR)
            thread.join()
        return question

    return put


def _pair() -> Pair:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    return ours, theirs


def _question(
    ours: socket.socket,
    own: OwnRunQueue,
    body: bytes,
    limit: float,
    owed: Callable[[bytes], bool] | None = None,
    notices: list[bytes] | None = None,
) -> Question:
    move_costs = MoveCosts(CpuMeter({}, 1.0, False), (), own, 0.0)
    move_costs.open(monotonic())
    return Question(ours, body, limit, move_costs, owed, notices)


def _silent(theirs: socket.socket) -> None:
    theirs.recv(ROOM)


def test_an_answer_has_a_measured_time(asked: Callable[..., Question]) -> None:
    question = asked(lambda theirs: theirs.send(theirs.recv(ROOM)[::-1]), b"abc")
    assert question.answer == b"cba"
    assert question.trouble is None
    assert 0 < question.cost.wall_seconds < LONG


def test_the_largest_question_and_answer_pass(asked: Callable[..., Question]) -> None:
    def child(theirs: socket.socket) -> None:
        theirs.send(theirs.recv(ROOM)[:FROM_CHILD_CAP])

    assert asked(child, b"x" * TO_CHILD_CAP).answer == b"x" * FROM_CHILD_CAP


def test_an_oversized_question_raises_value_error(pair: Pair, own: OwnRunQueue) -> None:
    with pytest.raises(ValueError, match="is too long for a child"):
        _question(pair[0], own, b"x" * (TO_CHILD_CAP + 1), LONG)


def test_an_oversized_answer_breaks_the_protocol(asked: Callable[..., Question]) -> None:
    def child(theirs: socket.socket) -> None:
        theirs.recv(ROOM)
        theirs.send(b"x" * (FROM_CHILD_CAP + 1))

    question = asked(child)
    assert question.trouble is NoAnswerCause.BROKEN
    assert str(FROM_CHILD_CAP) in question.detail


def test_a_child_that_never_reads_meets_the_deadline(asked: Callable[..., Question]) -> None:
    question = asked(lambda theirs: None, b"x" * TO_CHILD_CAP, limit=0.05)
    assert question.trouble is NoAnswerCause.LATE
    assert question.cost.wall_seconds > 0.05


def test_a_child_that_answers_without_reading_breaks_the_protocol(
    pair: Pair, own: OwnRunQueue
) -> None:
    for _ in range(1000):
        pair[1].send(b"{}")
        question = _question(pair[0], own, b"x" * TO_CHILD_CAP, LONG)
        ask_all([question], own, monotonic() + LONG)
        if question.trouble is not None:
            break
    assert question.trouble is NoAnswerCause.BROKEN
    assert "without reading" in question.detail


def test_an_answer_written_before_the_question_is_returned(
    pair: Pair, asked: Callable[..., Question]
) -> None:
    pair[1].send(b"early")
    assert asked(_silent).answer == b"early"


@pytest.mark.parametrize(
    ("packets", "answer", "left"),
    [
        ([b"a", b"b", b"!"], b"!", []),
        ([b"!"], b"!", [b"a", b"b"]),
        ([b"a", b"!"], b"!", [b"b"]),
        ([b"b", b"!"], b"b", [b"a", b"b"]),
        ([b"a", b"a", b"!"], b"a", [b"b"]),
        ([b"a", b"b", b"b"], b"b", []),
    ],
)
def test_notices_are_not_answers(
    pair: Pair, own: OwnRunQueue, packets: list[bytes], answer: bytes, left: list[bytes]
) -> None:
    notices = [b"a", b"b"]
    for packet in packets:
        pair[1].send(packet)
    question = _question(pair[0], own, b"{}", LONG, notices=notices)
    ask_all([question], own, monotonic() + LONG)
    assert (question.answer, notices) == (answer, left)


def test_a_notice_may_come_before_an_owed_answer(pair: Pair, own: OwnRunQueue) -> None:
    for packet in (b"notice", b"owed", b"answer"):
        pair[1].send(packet)
    notices = [b"notice"]
    question = _question(pair[0], own, b"{}", LONG, lambda packet: packet == b"owed", notices)
    ask_all([question], own, monotonic() + LONG)
    assert (question.answer, notices) == (b"answer", [])


def test_one_packet_is_one_answer(pair: Pair, asked: Callable[..., Question]) -> None:
    def child(theirs: socket.socket) -> None:
        theirs.recv(ROOM)
        theirs.send(b"one")
        with contextlib.suppress(BrokenPipeError):  # the first may have ended the questions already
            theirs.send(b"two")

    assert asked(child).answer == b"one"


@pytest.mark.parametrize("end", ["before", "after", "empty"])
def test_a_closed_connection_is_reported(pair: Pair, own: OwnRunQueue, end: str) -> None:
    def child(theirs: socket.socket) -> None:
        if end != "before":
            theirs.recv(ROOM)
        if end == "empty":
            theirs.send(b"")
        else:
            theirs.close()

    if end == "before":
        pair[1].close()
    question = _question(pair[0], own, b"{}", LONG)
    thread = threading.Thread(target=child, args=(pair[1],))
    if end != "before":
        thread.start()
    ask_all([question], own, monotonic() + LONG)
    if end != "before":
        thread.join()
    assert question.trouble is NoAnswerCause.CLOSED


def test_a_late_child_does_not_delay_other_children(own: OwnRunQueue) -> None:
    pairs = [_pair() for _ in range(3)]
    limits = [1.0, LONG, LONG]
    questions = [
        _question(ours, own, b"{}", limit) for (ours, _), limit in zip(pairs, limits, strict=True)
    ]

    def child(theirs: socket.socket) -> None:
        theirs.send(theirs.recv(ROOM))

    threads = [threading.Thread(target=child, args=(theirs,)) for _, theirs in pairs[1:]]
    for thread in threads:
        thread.start()
    ask_all(questions, own, monotonic() + LONG)
    for thread in threads:
        thread.join()
    assert [q.trouble for q in questions] == [NoAnswerCause.LATE, None, None]
    assert questions[1].cost.wall_seconds < questions[0].cost.wall_seconds
    for ours, theirs in pairs:
        ours.close()
        theirs.close()


def test_the_end_of_the_match_stops_open_questions(pair: Pair, own: OwnRunQueue) -> None:
    with pytest.raises(StopReached):
        ask_all([_question(pair[0], own, b"{}", LONG)], own, monotonic() + 0.05)


def test_an_owed_answer_is_dropped_before_the_question(pair: Pair, own: OwnRunQueue) -> None:
    def child(theirs: socket.socket) -> None:
        theirs.send(b"old")
        theirs.send(theirs.recv(ROOM)[::-1])

    question = _question(pair[0], own, b"new", LONG, lambda packet: packet == b"old")
    thread = threading.Thread(target=child, args=(pair[1],))
    thread.start()
    ask_all([question], own, monotonic() + LONG)
    thread.join()
    assert (question.answer, question.is_put) == (b"wen", True)


def test_only_one_owed_answer_is_dropped(pair: Pair, own: OwnRunQueue) -> None:
    for packet in (b"old", b"old", b"old"):
        pair[1].send(packet)
    question = _question(pair[0], own, b"new", LONG, lambda packet: packet == b"old")
    ask_all([question], own, monotonic() + LONG)
    assert question.answer == b"old"


def test_a_question_behind_a_missing_owed_answer_is_late(pair: Pair, own: OwnRunQueue) -> None:
    question = _question(pair[0], own, b"new", 0.05, lambda packet: packet == b"old")
    ask_all([question], own, monotonic() + LONG)
    assert (question.trouble, question.is_put) == (NoAnswerCause.LATE, False)
    with pytest.raises(BlockingIOError):
        pair[1].recv(ROOM, socket.MSG_DONTWAIT)
