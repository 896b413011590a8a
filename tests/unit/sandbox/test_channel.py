"""Questions over real sockets, with the other end in the test's hands."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from time import monotonic

import pytest

from sandbox.channel import Question, StopReached, Trouble, ask
from sandbox.frames import FROM_CHILD_CAP, TO_CHILD_CAP

Pair = tuple[socket.socket, socket.socket]
Child = Callable[[socket.socket], None]
LONG = 60.0


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def _receive(theirs: socket.socket) -> bytes:
    length = int.from_bytes(theirs.recv(4, socket.MSG_WAITALL), "big")
    return theirs.recv(length, socket.MSG_WAITALL)


def _put(pair: Pair, child: Child, body: bytes = b"{}", allowance: float = LONG) -> Question:
    """Ask while ``child`` plays the other end."""
    question = Question(pair[0], body, allowance)
    thread = threading.Thread(target=child, args=(pair[1],))
    thread.start()
    try:
        ask([question], monotonic() + LONG)
    finally:
        pair[0].shutdown(socket.SHUT_RDWR)
        thread.join()
    return question


def test_an_answer_comes_back_with_its_time(pair: Pair) -> None:
    def child(theirs: socket.socket) -> None:
        theirs.sendall(_frame(_receive(theirs)[::-1]))

    question = _put(pair, child, b"abc")
    assert question.answer == b"cba"
    assert question.trouble is None
    assert 0 < question.took_seconds < LONG


def test_an_answer_in_single_bytes_is_put_together(pair: Pair) -> None:
    def child(theirs: socket.socket) -> None:
        _receive(theirs)
        for byte in _frame(b"slow"):
            theirs.sendall(bytes([byte]))

    assert _put(pair, child).answer == b"slow"


def test_the_largest_question_and_answer_pass(pair: Pair) -> None:
    def child(theirs: socket.socket) -> None:
        theirs.sendall(_frame(_receive(theirs)[:FROM_CHILD_CAP]))

    assert _put(pair, child, b"x" * TO_CHILD_CAP).answer == b"x" * FROM_CHILD_CAP


def test_a_question_that_is_too_long_is_ours_to_answer_for(pair: Pair) -> None:
    with pytest.raises(ValueError, match="more than a child may get"):
        Question(pair[0], b"x" * (TO_CHILD_CAP + 1), LONG)


def test_a_child_that_never_reads_meets_the_deadline(pair: Pair) -> None:
    question = _put(pair, lambda theirs: None, b"x" * TO_CHILD_CAP, allowance=0.05)
    assert question.trouble is Trouble.LATE
    assert question.took_seconds > 0.05


def test_a_child_that_answers_a_byte_and_no_more_meets_the_same_deadline(pair: Pair) -> None:
    def child(theirs: socket.socket) -> None:
        _receive(theirs)
        theirs.sendall(b"\0")

    question = _put(pair, child, allowance=0.05)
    assert question.trouble is Trouble.LATE


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\xff\xff\xff\xff", "announced 4294967295"),
        (b"\0\0\0\0", "announced 0"),
        ((FROM_CHILD_CAP + 1).to_bytes(4, "big"), f"1 to {FROM_CHILD_CAP}"),
        (_frame(b"one") + _frame(b"two"), "more than one answer"),
        (_frame(b"one") + b"\0", "more than one answer"),
    ],
)
def test_a_wrong_frame_is_a_broken_protocol(pair: Pair, data: bytes, word: str) -> None:
    def child(theirs: socket.socket) -> None:
        _receive(theirs)
        theirs.sendall(data)

    question = _put(pair, child)
    assert question.trouble is Trouble.BROKEN
    assert word in question.detail


def test_bytes_before_the_question_are_a_broken_protocol(pair: Pair) -> None:
    pair[1].sendall(_frame(b"early"))
    question = _put(pair, lambda theirs: None)
    assert question.trouble is Trouble.BROKEN
    assert "nobody asked" in question.detail


def test_an_answer_to_half_a_question_is_a_broken_protocol(pair: Pair) -> None:
    def child(theirs: socket.socket) -> None:
        theirs.recv(1)
        theirs.sendall(_frame(b"guess"))

    question = _put(pair, child, b"x" * TO_CHILD_CAP)
    assert question.trouble is Trouble.BROKEN


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_closed_connection_is_told_apart(pair: Pair, when: str) -> None:
    def child(theirs: socket.socket) -> None:
        if when == "after":
            _receive(theirs)
        theirs.close()

    if when == "before":
        pair[1].close()
    question = Question(pair[0], b"{}", LONG)
    thread = threading.Thread(target=child, args=(pair[1],))
    thread.start()
    ask([question], monotonic() + LONG)
    thread.join()
    assert question.trouble is Trouble.CLOSED


def test_a_late_child_does_not_hold_up_or_harm_the_others() -> None:
    pairs = [socket.socketpair() for _ in range(3)]
    for ours, _ in pairs:
        ours.setblocking(False)
    questions = [Question(ours, b"{}", 0.2) for ours, _ in pairs]

    def child(theirs: socket.socket) -> None:
        theirs.sendall(_frame(_receive(theirs)))

    threads = [threading.Thread(target=child, args=(theirs,)) for _, theirs in pairs[1:]]
    for thread in threads:
        thread.start()
    ask(questions, monotonic() + LONG)
    for thread in threads:
        thread.join()
    assert [q.trouble for q in questions] == [Trouble.LATE, None, None]
    assert questions[1].took_seconds < questions[0].took_seconds
    for ours, theirs in pairs:
        ours.close()
        theirs.close()


def test_the_end_of_the_match_ends_the_asking(pair: Pair) -> None:
    with pytest.raises(StopReached):
        ask([Question(pair[0], b"{}", LONG)], monotonic() + 0.05)
