"""Puts an agent into a seat of a recorded episode: it answers the recorded questions.

The agent gets the recorded observations and the recorded bank, with the record's clock and the
seat's own seed. So an agent whose moves depend on nothing else repeats its recorded moves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Final

from games.episode import Episode
from games.protocol import Game, Json, Verdict
from games.recorded_seat import Question
from sandbox.errors import HostFault, SeatRefused
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.episode_request import WAITING_SECONDS
from sandbox.match.loans import Loan
from sandbox.match.match_record import read_log
from sandbox.match.match_timing import MatchTiming
from sandbox.match.questions import Question as Asked
from sandbox.match.questions import StopReached, ask_all
from sandbox.match.seat import Seat
from sandbox.match.seat_faults import SeatFault
from sandbox.match.seeds import seat_seed

OWN_SECONDS: Final = 60.0


class AgentInSeat:
    """An agent in a recorded seat. Use it as a context; the process ends with the context."""

    def __init__(
        self, game: Game[Any], episode: Episode, seat: int, loan: Loan | SeatRefused, seed: bytes
    ) -> None:
        """``seed`` is the seed of the match; the agent gets its seat's part of it."""
        clock = Clock.from_json(episode.clock)
        self._game, self._configuration = game, episode.configuration
        self._own = OwnRunQueue()
        self._seat = Seat(
            seat, loan, MatchTiming(clock, self._own, WAITING_SECONDS), (), game.lenient
        )
        self._seed = seat_seed(seed, seat)
        longest = clock.longest_seconds(len(episode.steps), 1, 1)
        self._stop_at = monotonic() + longest + WAITING_SECONDS + OWN_SECONDS

    def __enter__(self) -> AgentInSeat:
        if self._seat.fault is None:
            question = self._seat.build_start_question(self._configuration, self._seed)
            self._ask(question)
            self._seat.accept_start_answer(question)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(HostFault):
            self._seat.end()
        self._own.close()

    @property
    def fault(self) -> SeatFault | None:
        """The fault that ended the agent, if one did."""
        return self._seat.fault

    def answer(self, question: Question) -> Json:
        """The agent's move in its canonical form, or its fault, such as ``{"fault": "ERROR"}``.

        An agent that has ended gives its fault again. Raises HostFault if the node failed.
        """
        if self._seat.fault is not None:
            return _fault_json(self._seat.fault.verdict)
        self._seat.bank.left_seconds = question.bank_seconds
        asked = self._seat.build_move_question(question.step, dict(question.observation))
        if isinstance(asked, Verdict):
            return _fault_json(asked)
        self._ask(asked)
        move = self._seat.judge_answer(question.step, asked, self._parser(question.state))
        return _fault_json(move) if isinstance(move, Verdict) else move

    def printed(self) -> Mapping[int, Mapping[str, str]]:
        """What the agent printed, as ``stdout`` and ``stderr`` by step. Ends the agent."""
        self._seat.end()
        verdict = self._seat.fault.verdict if self._seat.fault else Verdict.DONE
        log = read_log(self._seat.log_blob(verdict))
        return {move["step"]: move for move in log["moves"]}

    def _parser(self, state: Any) -> Callable[[Json], Json]:
        return lambda raw: self._game.parse(state, self._seat.index, raw)

    def _ask(self, question: Asked) -> None:
        try:
            ask_all([question], self._own, self._stop_at)
        except StopReached:
            raise HostFault("the agent and this machine took too long together") from None


def _fault_json(verdict: Verdict) -> Json:
    return {"fault": str(verdict)}
