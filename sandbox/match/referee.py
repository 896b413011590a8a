"""Plays one episode: asks the seats, keeps their time, judges their answers and records them.

The referee trusts the game and the node, but no agent. It returns when the game is over, whatever
the agents did. It raises only if no agent is to blame. All seats' processes end on every way out.

All boxes together weigh as much as ten processes on each core. A referee of ordinary priority on a
busy host can wait seconds for a core, while an agent computes long past its limit. So the referee's
thread runs before the boxes that it times.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from time import monotonic
from typing import Any, Final

from games.forks import Fork, moves_after, recorded_states
from games.protocol import Game, Json, Outcome, Verdict, with_clock
from games.recorded_seat import bank_before
from sandbox.box.bundle_manifest import Contract
from sandbox.errors import GameFault, HostFault, SeatRefused
from sandbox.match import match_record
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import DelayMonitor, OwnRunQueue
from sandbox.match.loans import Loan, end_all
from sandbox.match.match_record import EpisodeRecord, PlayedMatch, SeatReport
from sandbox.match.questions import StopReached, ask_all
from sandbox.match.seat import END_SECONDS, MatchTiming, Seat
from sandbox.match.seat_faults import LONGEST_REASON, SeatFault, clean_text, stopped_fault
from sandbox.match.seeds import game_random, seat_seed

REFEREE_NICE: Final = -10
"""The priority of the services that ``peck up`` starts."""


@contextlib.contextmanager
def keep_time_first() -> Iterator[None]:
    """Raise this thread's ordinary priority inside the block, if that is allowed."""
    thread = threading.get_native_id()
    before = os.getpriority(os.PRIO_PROCESS, thread)
    raised = REFEREE_NICE < before <= 0 and _set_nice(thread, REFEREE_NICE)
    try:
        yield
    finally:
        if raised:
            _set_nice(thread, before)


def _set_nice(thread: int, nice: int) -> bool:
    try:
        os.setpriority(os.PRIO_PROCESS, thread, nice)
    except OSError:
        return False
    return True


WAITING_SECONDS: Final = 150.0
"""Most waiting for a core forgiven to a seat in one episode, by default."""


@dataclass(frozen=True, slots=True)
class EpisodeRequest:
    """One episode to play, with its seats and limits."""

    game: Game[Any]
    configuration: Mapping[str, Json]
    clock: Clock
    seed: bytes
    """Seeds the seats and the game's draws."""
    loans: Sequence[Loan | SeatRefused]
    """By seat. A refused bundle in place of a loan makes the seat fail while loading."""
    _: KW_ONLY
    max_parallel_seats: int
    """How many seats may think at a time."""
    stop_after_seconds: float
    """Limit of the whole episode. Give more than ``clock.longest_seconds`` of these seats, plus the
    waiting of all seats. Then no agent of this match can exceed the limit, because all other time
    is charged. Waiting for turns on a shared GPU does not count, up to GPU_WAIT_SECONDS."""
    waiting_seconds: float = WAITING_SECONDS
    """The most waiting for a core that is forgiven to a seat. After that its wall time counts."""
    forgive_lateness: bool = False
    """If true, a time-out caused by waiting beyond ``waiting_seconds`` raises HostTooSlow. A
    time-out that the node may have caused raises HostFault if the meter cannot forgive it. If
    false, both time-outs count against the agent."""
    stops_at_fault: bool = False
    """Whether the episode ends at the first fault. Used for validations, where all seats are copies
    of one agent. The other seats get the same fault. Copies that mostly wait are asked together."""
    on_step: Callable[[int], None] | None = None
    """Gets the number of each step, between steps and on nobody's clock. Its exception ends the
    match and is passed on."""
    on_record: Callable[[EpisodeRecord], None] | None = None
    """Gets the record once, before the first step. It grows while the match is played."""
    fork: Fork | None = None
    """The record to continue, with its configuration and clock in place of the request's."""


LARGEST: Final = 2**53
"""Largest number in an outcome. Squares of these numbers are added up."""


def check_numbers(game: Game[Any], outcome: Outcome) -> None:
    """Raise ValueError for numbers that a season cannot add up. An accepted result is final."""
    shares = {measure.name for measure in game.measures if measure.kind == "share"}
    numbers = [("reward", reward) for reward in outcome.rewards if reward is not None]
    numbers += [pair for seat in outcome.statistics for pair in seat.items()]
    for name, value in numbers:
        is_number = isinstance(value, int | float) and abs(value) <= LARGEST
        if not is_number or (name in shares and not 0 <= value <= 1):
            limits = "from 0 to 1" if name in shares else f"up to {LARGEST} on either side of 0"
            raise ValueError(f"{name} should be a number {limits}, it is {value!r:.100}")


def build_seat_report(seat: Seat, outcome: Outcome, decided: SeatFault | None = None) -> SeatReport:
    """The report of a seat. ``decided`` is the fault of another seat that ended the match."""
    verdict = outcome.verdicts[seat.index]
    costs = [answer.cost.charged_seconds for answer in seat.record.answers]
    off_turn = sum(answer.off_turn_seconds for answer in seat.record.answers)
    pardons = seat.record.pardoned
    # A game may end a seat for pardoned faults that were never made good.
    fault = seat.fault or (pardons[verdict].first if verdict in pardons else None)
    if fault is None and decided is not None and verdict.is_fault:
        fault = stopped_fault(decided)
    return SeatReport(
        placement=outcome.placements[seat.index],
        reward=outcome.rewards[seat.index],
        verdict=verdict,
        reason=fault.reason if fault else _none_warning(seat),
        failed_step=fault.step if fault else None,
        charged_seconds=round(sum(costs) + off_turn, 6),
        max_move_seconds=round(max(costs, default=0.0), 6),
        statistics=outcome.statistics[seat.index] if outcome.statistics else None,
        log=seat.log_blob(verdict),
        pardoned={kind: pardon.times for kind, pardon in pardons.items()},
        answered=seat.record.moved or (not seat.record.answers and seat.fault is None),
        bundle_refused=fault is not None and fault.bundle_refused,
    )


def _none_warning(seat: Seat) -> str | None:
    """The warning that the rules replaced answers of None; None if they replaced none.

    Such answers are legal in some games, so nothing else shows a function without ``return``.
    """
    turns = len(seat.record.answers) - seat.record.unused_answers
    replaced = len(seat.record.moves_for_none)
    if not replaced:
        return None
    replaced_turns = f"{replaced} of {turns} turns"
    if replaced == turns:
        replaced_turns = f"all {turns} turns" if turns > 1 else "its only turn"
    moves = {json.dumps(move) for move in seat.record.moves_for_none}
    played = f"played {moves.pop()}" if len(moves) == 1 else "chose moves"
    if seat.contract is Contract.CALLABLE:
        answer, hint = "None", "Does the function return its action?"
    else:
        answer, hint = "null", "Does the program send its move?"
    sentence = f"Your agent answered {answer} in {replaced_turns}; the rules {played} for it"
    return f"{clean_text(sentence, LONGEST_REASON - len(hint) - 2)}. {hint}"


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
        self._gpu_wait_seconds = GPU_WAIT_SECONDS / match_record.episodes_per_match(game)
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
        for seat, given_seconds in zip(self._seats, self._given_seconds, strict=True):
            self._drawn_seconds[seat.index] += max(0.0, given_seconds - seat.bank.left_seconds)
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
            observations = [self._game.observe(self._state, seat.index) for seat in group]
        questions = {}
        for seat, observation in zip(group, observations, strict=True):
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
                observation = self._game.observe(self._state, seat.index)
                questions.append(seat.build_end_question(observation))
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


def play_episode(request: EpisodeRequest) -> PlayedMatch:
    """Play one episode from reset, or from the step of a fork, to the end.

    Before a fork the referee sends each seat the recorded observations and bank, and ignores its
    answers. A fault before the fork still counts. The request's seed seeds the seats, and the
    game's draws if they are new. Before the fork a seat may use half a bank more than the clock
    gives (SPARE_BANK), so that slower machines can repeat the record. ``stop_after_seconds`` grows
    by the same time for each seat.

    Raises GameFault if the rules raised. Raises HostFault if the node failed or
    ``stop_after_seconds`` passed.
    """
    if request.fork is not None:
        request = _like_record(request, request.fork)
    stop_at = monotonic() + request.stop_after_seconds
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(contextlib.closing(OwnRunQueue()))
        timing = MatchTiming(
            request.clock, own, request.waiting_seconds, forgives_host=request.forgive_lateness
        )
        meters = {i: loan.meter for i, loan in enumerate(request.loans) if isinstance(loan, Loan)}
        if request.forgive_lateness and not all(meter.can_forgive for meter in meters.values()):
            timing = replace(timing, delay_monitor=stack.enter_context(DelayMonitor()))
        stack.enter_context(keep_time_first())  # threads begun from here on inherit the priority
        seats = [
            Seat(
                index,
                loan,
                timing,
                [meter for i, meter in meters.items() if i != index],
                request.game.lenient,
            )
            for index, loan in enumerate(request.loans)
        ]
        try:
            match = RunningEpisode(request, timing, seats, stop_at)
            match.stops_at_fault = request.stops_at_fault
            if request.fork is not None:
                match.continue_record(request.fork)
            match.start()
            if request.on_record is not None:
                request.on_record(match.record)
            while match.step():
                if request.on_step is not None:
                    request.on_step(match.steps)
            return match.report()
        except StopReached:
            limit = request.stop_after_seconds + match.gpu_waited_seconds
            raise HostFault(f"the match did not end within {limit:g} s") from None
        finally:
            with contextlib.suppress(HostFault):
                end_seats(seats)


def _like_record(request: EpisodeRequest, fork: Fork) -> EpisodeRequest:
    clock = Clock.from_json(fork.episode.clock)
    spare_seconds = len(request.loans) * SPARE_BANK * clock.bank_seconds
    return replace(
        request,
        configuration=fork.episode.configuration,
        clock=clock,
        stop_after_seconds=request.stop_after_seconds + spare_seconds,
    )


def parallel_seats(lent: Sequence[Loan | SeatRefused], max_parallel_seats: int) -> int:
    """How many of these seats may think at a time: one if boxes share a GPU."""
    shares_gpu = any(isinstance(loan, Loan) and loan.gpu_turn is not None for loan in lent)
    return 1 if shares_gpu else max_parallel_seats
