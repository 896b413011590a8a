"""What a seat computed off turn, where its bank cannot pay it."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from games.protocol import Verdict
from sandbox.channel import Question
from sandbox.clock import Clock
from sandbox.loans import Ending, Loan
from sandbox.meter import Meter, OwnQueue
from sandbox.seat import Seat, Timing
from sandbox.tally import Tally

CLOCK = Clock(act_seconds=0.5, bank_seconds=0.0)
LENIENT = frozenset({Verdict.TIMEOUT})


class QuietLoan(Loan):
    """A connection that nobody answers on."""

    def __init__(self, agent: socket.socket) -> None:
        self.socket, self.meter, self.memory_mb = agent, Meter({}, 1.0, False), 0

    def end(self) -> Ending:
        return Ending(exit_code=None, signal=None, out_of_memory=False, log=(), clean=True)


@pytest.fixture
def loan() -> Iterator[Loan]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    yield QuietLoan(ours)
    ours.close()
    theirs.close()


def _asking(
    loan: Loan, monkeypatch: pytest.MonkeyPatch, off_turn: float, lenient: frozenset[Verdict]
) -> tuple[Seat, Question | Verdict]:
    monkeypatch.setattr(Tally, "open", lambda *_, **__: off_turn)
    own = OwnQueue()
    seat = Seat(0, loan, Timing(CLOCK, own, 0.0), (), lenient)
    question = seat.asking(1, {})
    own.close()
    return seat, question


def test_it_is_taken_from_the_next_answers_time(
    loan: Loan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat, question = _asking(loan, monkeypatch, 0.125, LENIENT)
    assert isinstance(question, Question)
    assert question.limit_seconds == 0.375
    assert (seat.bank.left_seconds, seat.fault) == (0.0, None)


def test_it_costs_the_answer_where_that_is_not_enough(
    loan: Loan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat, question = _asking(loan, monkeypatch, 0.5, LENIENT)
    assert question is Verdict.TIMEOUT
    assert seat.fault is None
    assert seat.record.pardoned[Verdict.TIMEOUT].times == 1
    assert "0.500 s while it was not asked" in seat.record.pardoned[Verdict.TIMEOUT].first.reason


def test_it_ends_the_seat_where_the_game_forgives_no_time_out(
    loan: Loan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat, question = _asking(loan, monkeypatch, 0.125, frozenset())
    assert question is Verdict.TIMEOUT
    assert seat.fault is not None
