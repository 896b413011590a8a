"""One seat of a running match: its loan, bank, record and failure.

Everything from the child is hostile. ``questions`` bounds it and decodes it strictly, and the
game's ``parse`` checks it. So a child can harm only its own verdict. ``MoveCosts`` measures the
seat's time and ``TimeBank`` pays for it.

A *pardoned* fault costs an answer and not the seat; ``Game.lenient`` lists such faults. A fault
ends the seat all the same while it loads, when its process has gone and when it broke the protocol.

A seat pardoned for a missing answer is frozen until its next turn and owes the answer then. So
nothing it computes in between is off turn. The time it still needs for the old answer counts on the
next question's clock. Off-turn time that the bank cannot pay shortens the next answer.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import msgspec

from games.protocol import InvalidMove, Json, Verdict
from sandbox.box.bundle_manifest import Contract
from sandbox.box.harness import IMPORTED, IMPORTING
from sandbox.errors import AgentAway, BoxLate, HostFault, HostTooSlow, SeatRefused
from sandbox.match import questions, seat_faults
from sandbox.match.clock import Clock, TimeBank, TimeCharge
from sandbox.match.cpu_meter import CpuMeter, DelayMonitor, OwnRunQueue
from sandbox.match.loans import Ending, Loan, MoveLog
from sandbox.match.match_record import SeatAnswer, SeatRecord
from sandbox.match.move_cost import MoveCost, MoveCosts
from sandbox.match.questions import TO_CHILD_CAP, NoAnswerCause, Question
from sandbox.match.seat_faults import SeatFault


@dataclass(frozen=True, slots=True)
class MatchTiming:
    """The timing settings that all seats of a match share."""

    clock: Clock
    own: OwnRunQueue
    """Run queue of the thread that plays the match."""
    waiting_seconds: float
    """Most waiting forgiven to each seat in one episode."""
    delay_monitor: DelayMonitor | None = None
    """Measures how late the node itself wakes up. If a seat's meter cannot forgive waiting and the
    node may have caused a time-out, the time-out becomes a HostFault. None: every time-out stands.
    """
    forgives_host: bool = False
    """Whether a time-out caused by waiting beyond ``waiting_seconds`` is HostTooSlow."""


class SeatProcess:
    """The process of a seat. A seat without a loan has none."""

    def __init__(self, loan: Loan | None) -> None:
        self._loan = loan
        self._ending: Ending | None = None

    def end(self) -> None:
        """End the seat's process and keep how it ended. Safe to repeat.

        Raises HostFault if the node is gone; then the agent is not to blame.
        """
        for loan in self.unended_loans():
            self._ending = loan.end()

    def unended_loans(self) -> Sequence[Loan]:
        """The loan, if it has not ended yet. The node thaws a frozen child to kill it."""
        return () if self._loan is None or self._ending is not None else (self._loan,)

    @property
    def log(self) -> Sequence[MoveLog]:
        """What the agent printed in each move, once the process has ended."""
        return self._ending.log if self._ending else ()

    def program_fault(self, step: int, frame: questions.ProgramFault) -> SeatFault:
        """The fault of a program that broke its contract. If the program has exited, ends the
        seat's process too.
        """
        if frame.is_gone:
            self.end()
        fault = self.memory_fault(step)
        if fault is not None:
            return fault
        return seat_faults.contract_fault(
            step, frame.why, is_invalid=frame.is_invalid, is_late=frame.is_late
        )

    def no_answer_fault(self, step: int, question: Question) -> SeatFault:
        """The reason why the agent's process did not answer, although it had time.

        Ends the process, unless it broke the protocol.
        """
        if question.trouble is NoAnswerCause.BROKEN:
            return seat_faults.broken_protocol_fault(step, question.detail)
        self.end()
        fault = self.memory_fault(step)
        if fault is not None:
            return fault
        assert self._ending is not None
        if self._ending.signal is not None:
            return seat_faults.killed_fault(step, self._ending.signal)
        if self._ending.exit_code is not None:
            return seat_faults.exited_fault(step, self._ending.exit_code)
        return seat_faults.vanished_fault(step)

    def memory_fault(self, step: int) -> SeatFault | None:
        """The fault of using too much memory, if the process has ended and did so."""
        if self._ending is None or self._loan is None:
            return None
        if self._ending.exceeded_gpu_mb:
            return seat_faults.out_of_gpu_memory_fault(step, self._ending.exceeded_gpu_mb)
        if self._ending.out_of_memory:
            return seat_faults.out_of_memory_fault(step, self._loan.memory_mb)
        return None


BUSY_SHARE: Final = 0.8
"""A seat that used this share of its limit as CPU time was late by its own work."""
LATE_NODE_SECONDS: Final = 0.01


QUICK_SECONDS: Final = 0.002
"""A seat whose recent answers all cost less does not disturb seats asked at the same time.

An answer costs at least its CPU time.
"""
IDLE_SHARE: Final = 0.1
"""A seat that used at most this share of its answers' time as CPU time mostly waited."""
END_SECONDS: Final = 0.25
"""How long the end of a match waits for seats that get an end message."""


_NONCE: Final = struct.Struct("Q")
_NONCE_BYTES: Final = 64 * _NONCE.size


class Seat:
    """A player index with the process behind it."""

    def __init__(
        self,
        index: int,
        loan: Loan | SeatRefused,
        timing: MatchTiming,
        others: Sequence[CpuMeter] = (),
        lenient: frozenset[Verdict] = frozenset(),
    ) -> None:
        """``others`` are the meters of the match's other seats; ``lenient`` faults are pardoned."""
        self.index = index
        self.record = SeatRecord()
        self.fault: SeatFault | None = None
        """The fault that ended the seat."""
        self.contract = Contract.CALLABLE
        """Contract that the child reported. It words the reasons and decides whether the seat gets
        an end message.
        """
        self._lenient = lenient
        self._owed: int | None = None
        self._notices = [IMPORTING, IMPORTED]  # notices that may still come
        self.bank = TimeBank(timing.clock)
        self._timing, self._clock = timing, timing.clock
        self._loan = loan if isinstance(loan, Loan) else None
        self._meter = loan.meter if isinstance(loan, Loan) else CpuMeter({}, 1.0, False)
        self._move_costs = MoveCosts(
            self._meter,
            others,
            timing.own,
            timing.waiting_seconds,
            waits_for_host=timing.forgives_host,
        )
        self._process = SeatProcess(self._loan)
        self._observation: Mapping[str, Json] = {}
        """The observation of the last question."""
        self._nonce = -1
        self._nonces: Iterator[int] = iter(())
        self._off_turn_seconds = self._debt_seconds = 0.0
        self._costs: deque[float] = deque(maxlen=4)
        self._worked: deque[bool] = deque(maxlen=4)
        """Whether recent answers used more CPU time than IDLE_SHARE, or nobody measured it."""
        if isinstance(loan, Loan):
            loan.socket.setblocking(False)
        else:
            is_away = isinstance(loan, AgentAway)
            self.fault = (
                seat_faults.unreachable_agent_fault(str(loan))
                if is_away
                else seat_faults.refused_bundle_fault(str(loan))
            )

    @property
    def may_be_asked_with_others(self) -> bool:
        """Whether others may be asked at the same time.

        True if recent answers were short or the agent is remote. Never on a shared GPU.
        """
        if self.shares_gpu:
            return False
        if self._loan is not None and self._loan.is_remote:
            return True
        return bool(self._costs) and max(self._costs) < QUICK_SECONDS

    @property
    def mostly_waits(self) -> bool:
        """Whether recent answers used hardly any CPU time, however long they took.

        Copies of one agent that only wait hardly slow each other. Never on a shared GPU.
        """
        return bool(self._worked) and not any(self._worked) and not self.shares_gpu

    @property
    def shares_gpu(self) -> bool:
        """Whether other boxes use the seat's GPU too."""
        return self._loan is not None and self._loan.gpu_turn is not None

    def hold_gpu(self, stop_at: float) -> contextlib.AbstractContextManager[None]:
        """Hold the seat's GPU, if other boxes share it. Raises StopReached after ``stop_at``."""
        if self._loan is None or self._loan.gpu_turn is None:
            return contextlib.nullcontext()
        return self._loan.gpu_turn.held(stop_at)

    def build_start_question(self, configuration: Mapping[str, Json], seed: bytes) -> Question:
        """The start message. Its answer is due within the load allowance."""
        self._move_costs.open(monotonic(), self._clock.load_seconds)
        return self._question(
            {
                "k": "start",
                "configuration": configuration,
                "seed": seed.hex(),
                "load": self._clock.load,
                "clock": self._clock.to_json(),
                "notices": True,
            },
            self._clock.load_seconds,
        )

    def build_move_question(self, step: int, observation: dict[str, Json]) -> Question | Verdict:
        """The question for a move, or the verdict on a seat that used up its bank off turn.

        Its number ensures that only its own answer counts.
        """
        owes, self._observation = self._owed is not None, observation
        self._debt_seconds = 0.0
        self._off_turn_seconds = self._move_costs.open(
            monotonic(), self._clock.act_seconds, owes=owes
        )
        if self._off_turn_seconds:
            charge = self.bank.charge_off_turn(self._off_turn_seconds)
            if charge.timed_out:
                if Verdict.TIMEOUT in self._lenient:
                    self._debt_seconds = -self.bank.left_seconds
                    self.bank.clear_debt()
                if not 0 < self._debt_seconds < self._clock.act_seconds:
                    self._record(step, MoveCost(0.0, 0.0, 0.0, 0.0), is_put=False)
                    return self._pardon_or_fail(seat_faults.off_turn_fault(step, charge))
        self._nonce = self._next_nonce()
        shown = {**observation, "remainingOverageTime": self.bank.visible_seconds()}
        message = {"k": "act", "n": self._nonce, "observation": shown}
        limit_seconds = self.bank.deadline(0.0) - self._debt_seconds
        return self._question(message, limit_seconds, self._is_owed if owes else None)

    def freeze_if_computing(self) -> None:
        """Stop the seat from computing in a step in which it is not asked."""
        if self.fault is None:
            self._move_costs.freeze_if_computing()

    @property
    def hears_end(self) -> bool:
        """Whether the seat can get an end message."""
        is_there = self.fault is None and self._owed is None
        return is_there and self.contract is Contract.HTTP

    def build_end_question(self, observation: dict[str, Json]) -> Question:
        """The end message. The answer does not count."""
        self._move_costs.open(monotonic())
        return self._question({"k": "end", "observation": observation}, END_SECONDS)

    def accept_start_answer(self, question: Question) -> None:
        """Take the answer to the start message.

        Raises HostFault if the child was lost before it ran any of the agent's code.
        """
        self.record.loading = question.cost
        self.fault = self._start_fault(question)
        if self.fault is not None:
            self.end()

    def judge_answer(
        self, step: int, question: Question, parse: Callable[[Json], Json]
    ) -> Json | Verdict:
        """Charge the answer. Returns the canonical move, or the verdict on the answer.

        ``fault`` is set if the verdict ended the seat. Raises HostFault if the node may have caused
        a time-out.
        """
        cost = question.cost
        self._costs.append(cost.charged_seconds)
        used = cost.wall_seconds if cost.cpu_seconds is None else cost.cpu_seconds
        self._worked.append(used > IDLE_SHARE * cost.wall_seconds)
        charged = cost.charged_seconds
        if question.trouble is NoAnswerCause.LATE:  # the kernel may count pressure late
            charged = max(charged, question.limit_seconds)
        charge = self.bank.charge(charged + self._debt_seconds)
        self._record(step, cost, is_put=question.is_put)
        if question.is_put:
            self._owed = self._nonce if question.answer is None else None
        if question.trouble is NoAnswerCause.LATE:
            return self._judge_late_answer(step, question, charge)
        if question.answer is None:
            return self._fail(self._process.no_answer_fault(step, question))
        try:
            frame = questions.decode_packet(question.answer)
        except questions.MALFORMED as error:
            return self._fail(
                seat_faults.broken_protocol_fault(step, f"its answer is malformed ({error})")
            )
        if isinstance(frame, questions.Ready) or frame.n != self._nonce:
            return self._fail(
                seat_faults.broken_protocol_fault(step, "it answered a question that was not asked")
            )
        if isinstance(frame, questions.ProgramFault) and frame.is_gone:
            return self._fail(self._process.program_fault(step, frame))
        if isinstance(frame, questions.Failed):
            return self._pardon_or_fail(seat_faults.raised_fault(step, frame.trace))
        if charge.timed_out:
            return self._judge_late_answer(step, question, charge)
        if isinstance(frame, questions.ProgramFault):
            return self._pardon_or_fail(self._process.program_fault(step, frame))
        try:
            action = questions.read_action(frame.action)
            move = parse(action)
            self.record.moved = True
            if action is None:
                self.record.moves_for_none.append(move)
            return move
        except InvalidMove as error:
            return self._pardon_or_fail(seat_faults.invalid_move_fault(step, str(error)))
        except Exception:  # whatever parse raises, the agent caused it
            return self._pardon_or_fail(
                seat_faults.invalid_move_fault(step, "it cannot be read as a move of this game")
            )

    def end(self) -> None:
        """End the seat's process and keep what the box knows of it. Safe to repeat.

        Raises HostFault if the node is gone; then the agent is not to blame.
        """
        self._process.end()

    def unended_loans(self) -> Sequence[Loan]:
        """The loan, if it has not ended yet."""
        return self._process.unended_loans()

    def log_blob(self, how: Verdict) -> bytes:
        """The seat's private log, once the seat has ended."""
        return self.record.log_blob(how, self.fault, self._process.log)

    @property
    def _is_importing(self) -> bool:
        """Whether the child says so. This only words the reason of a time-out."""
        return self._notices == [IMPORTED]

    def _record(self, step: int, cost: MoveCost, *, is_put: bool) -> None:
        left = self.bank.left_seconds
        self.record.add(SeatAnswer(step, cost, self._off_turn_seconds, left, is_put))

    def _question(
        self,
        message: dict[str, Any],
        limit_seconds: float,
        owed: Callable[[bytes], bool] | None = None,
    ) -> Question:
        assert self._loan is not None
        body = msgspec.json.encode(message)
        if len(body) > TO_CHILD_CAP:
            raise HostFault(
                f"the game's message to seat {self.index + 1} is too long: {len(body)} bytes"
            )
        return Question(
            self._loan.socket, body, limit_seconds, self._move_costs, owed, self._notices
        )

    def _next_nonce(self) -> int:
        nonce = next(self._nonces, None)
        if nonce is None:  # one system call for many
            self._nonces = (number for (number,) in _NONCE.iter_unpack(os.urandom(_NONCE_BYTES)))
            nonce = next(self._nonces)
        return nonce >> 16

    def _is_owed(self, packet: bytes) -> bool:
        """Whether this is the owed answer, whatever its content."""
        try:
            frame = questions.decode_packet(packet)
        except questions.MALFORMED:
            return False
        return not isinstance(frame, questions.Ready) and frame.n == self._owed

    def _judge_late_answer(self, step: int, question: Question, charge: TimeCharge) -> Verdict:
        """Record the time-out. It ends the seat unless the game pardons it.

        Raises HostTooSlow if the host caused it, HostFault if the host may have caused it and
        nobody can tell.
        """
        self._raise_if_node_late(question)
        over = charge.seconds - self._clock.act_seconds - max(0.0, charge.bank_before_seconds)
        fault = self._raise_if_host_slow(step, over, question)
        if fault is not None:
            return self._fail(fault)
        self._move_costs.unforgiven_before_seconds = 0.0  # a pardon clears the debt of the bank
        is_silent = question.answer is None
        hint = (
            seat_faults.silence_hint(self.contract, is_importing=self._is_importing)
            if is_silent
            else None
        )
        fault = seat_faults.late_fault(step, charge, question.cost, self._clock, hint=hint)
        return self._pardon_or_fail(fault)

    def _start_fault(self, question: Question) -> SeatFault | None:
        unbegun = self._clock.load == "first_move"
        if question.trouble is NoAnswerCause.LATE:
            self._raise_if_node_late(question)
            if unbegun:
                raise BoxLate(f"seat {self.index + 1}: the box was not ready in time")
            over = question.cost.charged_seconds - question.limit_seconds
            fault = self._raise_if_host_slow(0, over, question)
            return fault or seat_faults.late_load_fault(
                self._clock, question.cost, is_importing=self._is_importing
            )
        if question.trouble is NoAnswerCause.CLOSED and unbegun:
            self.end()
            raise HostFault(f"seat {self.index + 1}: the process ended before the agent's code ran")
        if question.answer is None:
            return self._process.no_answer_fault(0, question)
        try:
            frame = questions.decode_packet(question.answer)
        except questions.MALFORMED as error:
            return seat_faults.broken_protocol_fault(0, f"its answer is malformed ({error})")
        if isinstance(frame, questions.Failed):
            return seat_faults.raised_fault(0, frame.trace)
        if isinstance(frame, questions.ProgramFault):
            return self._process.program_fault(0, frame)
        if isinstance(frame, questions.Reply):
            return seat_faults.broken_protocol_fault(0, "it answered too early")
        self.contract = frame.contract
        return None

    def _pardon_or_fail(self, fault: SeatFault) -> Verdict:
        """Pardon the fault if the game does. Otherwise end the seat."""
        if fault.verdict not in self._lenient:
            return self._fail(fault)
        self.record.count_pardoned_fault(seat_faults.with_game_step(fault, self._observation))
        self.bank.clear_debt()
        if self._owed is not None or self._move_costs.ponders:
            self._meter.freeze()
        return fault.verdict

    def _fail(self, fault: SeatFault) -> Verdict:
        self.fault = seat_faults.with_game_step(fault, self._observation)
        self.end()
        return fault.verdict

    def _raise_if_node_late(self, question: Question) -> None:
        """Raise HostFault if the node may have caused this time-out, without pressure to decide it.

        A time-out that the game pardons stays: it costs the seat only one answer. Otherwise the
        match of an agent that is often late would become void whenever the node is late too.
        """
        monitor, cost = self._timing.delay_monitor, question.cost
        if monitor is None or self._meter.can_forgive or Verdict.TIMEOUT in self._lenient:
            return
        used = (cost.cpu_seconds or 0.0) / self._meter.cpus
        if used >= BUSY_SHARE * question.limit_seconds:
            return
        lag = monitor.lag_seconds(question.started_at)
        if lag >= LATE_NODE_SECONDS:
            raise HostFault(
                f"seat {self.index + 1} was late and the node itself was late by"
                f" {lag * 1000:.0f} ms; without pressure readings nobody can tell which of the two"
                " caused the time-out"
            )

    def _raise_if_host_slow(
        self, step: int, over_seconds: float, question: Question
    ) -> SeatFault | None:
        """Raise HostTooSlow if the seat would be in time once all its waiting is forgiven.

        ``over_seconds``: by how much the seat exceeded its time. Nobody knows how late a missing
        answer would have been. So the seat then must also have waited for half of the charged time,
        and an agent that sleeps gains nothing.

        Returns None if the seat itself was late. If the box ran out of memory meanwhile, returns
        that fault of the agent.
        """
        now = self._move_costs.unforgiven_now_seconds
        unforgiven = self._move_costs.unforgiven_before_seconds + now
        if not self._timing.forgives_host or unforgiven <= max(0.0, over_seconds):
            return None
        if question.answer is None and now < question.cost.charged_seconds / 2:
            return None
        self._process.end()
        fault = self._process.memory_fault(step)
        if fault is not None:
            return fault
        waited = self._timing.waiting_seconds + unforgiven
        raise HostTooSlow(
            f"seat {self.index + 1} waited {waited:.1f} s for a core in this episode and was late"
            f" in step {step}; this host is too slow for this season"
        )
