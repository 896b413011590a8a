"""Ends the process of a seat and finds the fault that its end shows."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.match import reply_decoder, seat_faults
from sandbox.match.loan_endings import Ending, MoveLog
from sandbox.match.loans import Loan
from sandbox.match.questions import NoAnswerCause, Question
from sandbox.match.seat_faults import SeatFault


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

    def program_fault(self, step: int, frame: reply_decoder.ProgramFault) -> SeatFault:
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
