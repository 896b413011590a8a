"""Plays one episode: asks the seats in each step and applies the game's rules."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any, Final

from games.forks import Fork, moves_after, recorded_states
from games.protocol import Json, Verdict, with_clock
from games.recorded_seat import bank_before
from sandbox.errors import GameFault
from sandbox.match import mirrored_pairs
from sandbox.match.episode_request import EpisodeRequest
from sandbox.match.loans import end_all
from sandbox.match.match_record import EpisodeRecord, PlayedMatch
from sandbox.match.match_timing import MatchTiming
from sandbox.match.questions import StopReached, ask_all
from sandbox.match.seat import END_SECONDS, Seat
from sandbox.match.seat_faults import SeatFault
from sandbox.match.seat_reports import build_seat_report, check_numbers
from sandbox.match.seeds import game_random, seat_seed

GPU_WAIT_SECONDS: Final = 3600.0
"""A match may wait this long for turns on a shared GPU, without its ``stop_after_seconds`` running.
Each episode of a match has an equal part of it.

Without it, an agent of another match could void this match by thinking for a long time.
"""
SPARE_BANK: Final = 0.5
"""How much more than its bank a seat may spend before a fork, as a share of the bank."""


class RunningEpisode:
    """Plays one episode, step by step."""

    def __init__(
        self, request: EpisodeRequest, timing: MatchTiming, seats: Sequence[Seat], stop_at: float
    ) -> None:
        self._game = game = request.game
        self._configuration = configuration = with_clock(
            game, request.configuration, timing.clock.to_json()
        )
        self._clock, self._own = timing.clock, timing.own
        self._seed, self._seats = request.seed, seats
        self._max_parallel_seats, self._stop_at = max(1, request.max_parallel_seats), stop_at
        self._gpu_wait_seconds = GPU_WAIT_SECONDS / mirrored_pairs.episodes_per_match(game)
        self.gpu_waited_seconds = 0.0
        """How much later the match must end, because it waited for turns on a shared GPU."""
        self._random = game_random(request.seed)
        self.steps = 0
        self.stops_at_fault = False
        with _game_faults("reset"):
            self._state, chance = game.reset(configuration, len(seats), self._random)
        self._recorded: Iterator[tuple[int, Any]] = iter(())
        self._fork: Fork | None = None
        self._by_hand: dict[int, list[Json]] = {}
        self._given_seconds = [seat.bank.left_seconds for seat in seats]
        """Bank of each seat at the start of the last step before the fork."""
        self._drawn_seconds = [0.0] * len(seats)
        """What each seat took from its bank in the steps before the fork."""
        self._begin_record(chance)

    def _begin_record(self, chance: Json) -> None:
        self.record = EpisodeRecord(
            game=self._game.name,
            version=self._game.version,
            configuration=self._configuration,
            clock=self._clock,
            seats=len(self._seats),
            chance=chance,
        )

    def continue_record(self, fork: Fork) -> None:
        """Begin with the record's steps until the fork. Call it before ``start``."""
        self._fork = fork
        self._random = game_random(self._seed if fork.seed is None else fork.seed)
        self._recorded = recorded_states(
            self._game, fork, None if fork.seed is None else self._random
        )
        self._by_hand = {seat: list(moves) for seat, moves in fork.moves.items()}
        with _game_faults("reset"):
            _, self._state = next(self._recorded)
        self._begin_record(fork.episode.chance)

    def start(self) -> None:
        """Send every child the start message and wait until each is ready or has failed."""
        able = [seat for seat in self._seats if seat.fault is None]
        # With load "own" the agent's file runs now: its imports cost time and need a core.
        size = self._max_parallel_seats if self._clock.load == "own" else len(able)
        for group in _groups_of(able, size):
            with self._hold_gpu(group[0]):
                questions = [
                    seat.build_start_question(
                        self._configuration, seat_seed(self._seed, seat.index)
                    )
                    for seat in group
                ]
                ask_all(questions, self._own, self._stop_at)
            for seat, question in zip(group, questions, strict=True):
                seat.accept_start_answer(question)

    def step(self) -> bool:
        """Play one step. Returns False if the game is over."""
        with _game_faults("to_move"):
            to_move = self._game.to_move(self._state)
        if not to_move:
            return False
        if monotonic() > self._stop_at:
            raise StopReached
        self.steps += 1
        fork = self._fork
        if fork is not None and self.steps <= fork.step + 1:
            self._give_recorded_banks(fork)
        moves: dict[int, Json | Verdict] = {}
        able = []
        decided = self._deciding_fault()
        for index in to_move:
            fault = self._seats[index].fault or decided
            if fault is None:
                able.append(self._seats[index])
            else:
                moves[index] = fault.verdict
        if len(to_move) < len(self._seats):
            for seat in self._seats:
                if seat.index not in to_move:
                    seat.freeze_if_computing()
        for group in self._groups(able):
            # Seats that are not asked, or have answered, must not compute meanwhile.
            for seat in able:
                if seat not in group:
                    seat.freeze_if_computing()
            with self._hold_gpu(group[0]):
                moves.update(self._ask(group))
        if fork is not None and self.steps <= fork.step + 1:
            recorded = fork.episode.steps[self.steps - 1].moves
            for seat in able:
                compared = seat.record.comparison
                compared.add(self.steps, recorded[seat.index], moves[seat.index])
        if fork is not None and self.steps <= fork.step:
            with _game_faults("step"):
                _, self._state = next(self._recorded)
            self.record.add_recorded(fork.episode.steps[self.steps - 1])
            for seat in able:
                seat.record.mark_answers_unused()
            return True
        if self._by_hand:
            for seat in able:
                if self._by_hand.get(seat.index):
                    seat.record.mark_answers_unused()
            moves = moves_after(self._game, self._state, moves, self._by_hand)
        answers = {seat.index: seat.record.answers[-1] for seat in able}
        with _game_faults("step"):
            self._state, chance = self._game.step(self._state, moves, self._random)
        self.record.add(moves, answers, chance)
        return True

    @contextlib.contextmanager
    def _hold_gpu(self, seat: Seat) -> Iterator[None]:
        """Hold the seat's GPU if others share it, and move the match's deadline by the waiting."""
        asked_at, left = monotonic(), self._gpu_wait_seconds - self.gpu_waited_seconds
        with seat.hold_gpu(self._stop_at + left):
            waited = min(left, monotonic() - asked_at) if seat.shares_gpu else 0.0
            self._stop_at += waited
            self.gpu_waited_seconds += waited
            yield

    def _give_recorded_banks(self, fork: Fork) -> None:
        """Set each seat's bank to the recorded value.

        In all steps before the fork a seat may spend at most ``1 + SPARE_BANK`` of its bank.
        Otherwise it could spend the recorded bank again in each step.
        """
        limit = (1 + SPARE_BANK) * self._clock.bank_seconds
        for seat, given in zip(self._seats, self._given_seconds, strict=True):
            self._drawn_seconds[seat.index] += max(0.0, given - seat.bank.left_seconds)
            left = max(0.0, limit - self._drawn_seconds[seat.index])
            recorded = bank_before(fork.episode, seat.index, self.steps)
            seat.bank.left_seconds = min(recorded, left)
        self._given_seconds = [seat.bank.left_seconds for seat in self._seats]

    def report(self) -> PlayedMatch:
        """End every process and build the result."""
        with _game_faults("outcome"):
            outcome = self._game.outcome(self._state)
            if outcome is None:
                raise ValueError("to_move() is empty, but outcome() gives None")
            check_numbers(self._game, outcome)
        self._tell_end()
        end_seats(self._seats)
        decided = self._deciding_fault()
        reports = tuple(build_seat_report(seat, outcome, decided) for seat in self._seats)
        return PlayedMatch(self.record.close(outcome), reports)

    def _deciding_fault(self) -> SeatFault | None:
        """The first fault of a seat, if it ends the match for all."""
        faults = [seat.fault for seat in self._seats if seat.fault is not None]
        return min(faults, key=lambda one: one.step, default=None) if self.stops_at_fault else None

    def _ask(self, group: Sequence[Seat]) -> Iterator[tuple[int, Json | Verdict]]:
        with _game_faults("observe"):
            seen = [self._game.observe(self._state, seat.index) for seat in group]
        questions = {}
        for seat, observation in zip(group, seen, strict=True):
            question = seat.build_move_question(self.steps, observation)
            if isinstance(question, Verdict):
                yield seat.index, question
            else:
                questions[seat.index] = question
        ask_all(tuple(questions.values()), self._own, self._stop_at)
        for seat in group:
            if seat.index in questions:
                parse = self._parser(seat.index)
                yield seat.index, seat.judge_answer(self.steps, questions[seat.index], parse)

    def _tell_end(self) -> None:
        """Send the end message to agents whose contract has one. The answers do not count."""
        questions = []
        for seat in [seat for seat in self._seats if seat.hears_end]:
            with contextlib.suppress(
                Exception
            ):  # a game need not have an observation for a seat that is out
                seen = self._game.observe(self._state, seat.index)
                questions.append(seat.build_end_question(seen))
        if questions:
            # An agent that computes now may seem to wait for a core. The match is over all the
            # same.
            with contextlib.suppress(StopReached):
                ask_all(questions, self._own, monotonic() + 2 * END_SECONDS)

    def _parser(self, seat: int) -> Callable[[Json], Json]:
        return lambda raw: self._game.parse(self._state, seat, raw)

    def _groups(self, able: Sequence[Seat]) -> list[Sequence[Seat]]:
        """Group the seats to ask: quick and remote seats together, the others
        ``max_parallel_seats`` at a time. A seat on a shared GPU is asked alone.

        In a validation the copies that mostly wait are asked together too. Otherwise an agent that
        sleeps for seconds in each move would keep a slot for the sum of all its copies' sleep.
        The first group rotates with each step.
        """
        together: list[Seat] = []
        apart: list[Seat] = []
        for seat in able:
            waits = self.stops_at_fault and seat.mostly_waits
            (together if waits or seat.may_be_asked_with_others else apart).append(seat)
        first = self.steps % len(apart) if apart else 0
        groups = _groups_of(apart[first:] + apart[:first], self._max_parallel_seats)
        return [together, *groups] if together else groups


@contextlib.contextmanager
def _game_faults(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise GameFault(f"the rules failed in {what}: {error!r}") from error


def end_seats(seats: Sequence[Seat]) -> None:
    """End all processes in parallel. Raises the first HostFault."""
    end_all([loan for seat in seats for loan in seat.unended_loans()])
    for seat in seats:
        seat.end()


def _groups_of(seats: Sequence[Seat], size: int) -> list[Sequence[Seat]]:
    """Groups of ``size`` seats. A seat on a shared GPU is alone."""
    others = [seat for seat in seats if not seat.shares_gpu]
    chunks = [others[at : at + size] for at in range(0, len(others), max(1, size))]
    return [*chunks, *([seat] for seat in seats if seat.shares_gpu)]
