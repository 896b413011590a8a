"""The charge for off-turn work of a seat whose bank cannot pay."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from games.protocol import Verdict
from sandbox.errors import HostTooSlow
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import CpuMeter, OwnRunQueue
from sandbox.match.loans import Ending, Loan
from sandbox.match.move_cost import MoveCost, MoveCosts
from sandbox.match.questions import NoAnswerCause, Question
from sandbox.match.seat import MatchTiming, Seat

CLOCK = Clock(act_seconds=0.5, bank_seconds=0.0)
LENIENT = frozenset({Verdict.TIMEOUT})


class QuietLoan(Loan):
    """A connection without answers."""

    def __init__(self, agent: socket.socket) -> None:
        self.socket, self.meter, self.memory_mb = agent, CpuMeter({}, 1.0, False), 0

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
    monkeypatch.setattr(MoveCosts, "open", lambda *_, **__: off_turn)
    own = OwnRunQueue()
    seat = Seat(0, loan, MatchTiming(CLOCK, own, 0.0), (), lenient)
    question = seat.build_move_question(1, {})
    own.close()
    return seat, question


def test_off_turn_time_is_deducted_from_the_next_answer(
    loan: Loan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat, question = _asking(loan, monkeypatch, 0.125, LENIENT)
    assert isinstance(question, Question)
    assert question.limit_seconds == 0.375
    assert (seat.bank.left_seconds, seat.fault) == (0.0, None)


def test_excess_off_turn_time_is_a_forgiven_timeout(
    loan: Loan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat, question = _asking(loan, monkeypatch, 0.5, LENIENT)
    assert question is Verdict.TIMEOUT
    assert seat.fault is None
    assert seat.record.pardoned[Verdict.TIMEOUT].times == 1
    assert "0.500 s off its turn" in seat.record.pardoned[Verdict.TIMEOUT].first.reason


def test_off_turn_time_ends_the_seat_in_a_strict_game(
    loan: Loan, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat, question = _asking(loan, monkeypatch, 0.125, frozenset())
    assert question is Verdict.TIMEOUT
    assert seat.fault is not None


class Stopped(QuietLoan):
    """A loan whose box has ended, with or without running out of memory."""

    def __init__(self, agent: socket.socket, *, out_of_memory: bool) -> None:
        super().__init__(agent)
        self.out_of_memory = out_of_memory

    def end(self) -> Ending:
        return Ending(None, None, self.out_of_memory, (), clean=True)


def _late(
    loan: Loan, unforgiven: float, *, before: float = 0.0, forgives_host: bool = True
) -> Seat:
    """A late seat without an answer, with this much waiting that was not forgiven."""
    own = OwnRunQueue()
    seat = Seat(0, loan, MatchTiming(CLOCK, own, 60.0, forgives_host=forgives_host))
    question = seat.build_move_question(1, {})
    assert isinstance(question, Question)
    question.begin()
    question.trouble = NoAnswerCause.LATE
    question.cost = MoveCost(70.0, 0.1, 60.0, 0.6)
    seat._move_costs.unforgiven_before_seconds = before
    seat._move_costs.unforgiven_now_seconds = unforgiven
    own.close()
    seat.judge_answer(1, question, lambda raw: raw)
    return seat


def test_a_timeout_caused_by_waiting_is_the_hosts_fault(loan: Loan) -> None:
    with pytest.raises(HostTooSlow, match=r"seat 1 waited 60.4 s for a core"):
        _late(loan, 0.4)


def test_a_timeout_only_partly_caused_by_waiting_stands(loan: Loan) -> None:
    fault = _late(loan, 0.05).fault
    assert fault is not None
    assert fault.verdict is Verdict.TIMEOUT


@pytest.mark.parametrize("now", [0.0, 0.2])
def test_silence_after_little_waiting_is_the_agents_timeout(loan: Loan, now: float) -> None:
    """The agent slept, on a host that had made it wait in earlier moves."""
    fault = _late(loan, now, before=30.0).fault
    assert fault is not None
    assert fault.verdict is Verdict.TIMEOUT


def test_a_timeout_stands_after_too_many_void_attempts(loan: Loan) -> None:
    fault = _late(loan, 0.4, forgives_host=False).fault
    assert fault is not None
    assert fault.verdict is Verdict.TIMEOUT


def test_an_out_of_memory_fault_stands_on_a_slow_host(loan: Loan) -> None:
    fault = _late(Stopped(loan.socket, out_of_memory=True), 0.4).fault
    assert fault is not None
    assert fault.verdict is Verdict.ERROR
    assert "of memory" in fault.reason
