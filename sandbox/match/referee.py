"""Plays one episode: asks the seats, keeps their time, judges their answers and records them.

The referee trusts the game and the node, but no agent. It returns when the game is over, whatever
the agents did. It raises only if no agent is to blame. All seats' processes end on every way out.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from time import monotonic
from typing import Any, Final

from games.forks import Fork, moves_after, recorded_states
from games.protocol import Game, Json, Outcome, S, Verdict, with_clock
from games.recorded_seat import bank_before
from sandbox.errors import HostFault, SeatRefused
from sandbox.match import mirrored_pairs
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.delay_monitor import DelayMonitor
from sandbox.match.loans import Loan, end_all
from sandbox.match.match_record import EpisodeRecord, PlayedMatch, SeatReport
from sandbox.match.questions import StopReached, ask_all
from sandbox.match.seat import END_SECONDS, MatchTiming, Seat
from sandbox.match.seat_faults import SeatFault, stopped_fault
from sandbox.match.thread_priority import keep_time_first

SEED_BYTES: Final = 16
WAITING_SECONDS: Final = 150.0
"""Most waiting for a core forgiven to a seat in one episode, by default."""
GPU_WAIT_SECONDS: Final = 3600.0
"""Most waiting for turns on a shared GPU in one match that does not count against
``stop_after_seconds``. Each episode of a match has an equal part of it.

Without it, an agent of another match could void this match by thinking for a long time.
"""
SPARE_BANK: Final = 0.5
"""How much more than its bank a seat may spend before a fork, as a share of the bank."""
LARGEST: Final = 2**53
"""Largest number in an outcome. Squares of these numbers are added up."""


class GameFault(HostFault):
    """The game's rules raised. No agent is to blame, and another node will fail too."""


def play_episode(
    game: Game[S],
    configuration: Mapping[str, Json],
    clock: Clock,
    seed: bytes,
    loans: Sequence[Loan | SeatRefused],
    *,
    max_parallel_seats: int,
    stop_after_seconds: float,
    waiting_seconds: float = WAITING_SECONDS,
    forgive_lateness: bool = False,
    stops_at_fault: bool = False,
    on_step: Callable[[int], None] | None = None,
    on_record: Callable[[EpisodeRecord], None] | None = None,
) -> PlayedMatch:
    """Play one episode from reset to end; ``loans`` by seat.

    - A refused bundle in place of a loan makes the seat fail while loading.
    - ``max_parallel_seats`` is how many seats may think at a time.
    - ``waiting_seconds`` is the most waiting for a core that is forgiven to a seat. After that its
      wall time counts.
    - With ``forgive_lateness`` a time-out caused by waiting beyond ``waiting_seconds`` is
      HostTooSlow. If a meter cannot forgive, a time-out that the node may have caused is a
      HostFault. Otherwise both stand.
    - With ``stops_at_fault`` nobody is asked any more once a seat has failed: a validation of
      copies of one agent is then decided. The other seats get the same fault. Copies that mostly
      wait are asked together.
    - ``on_step`` gets the number of each step, between steps and on nobody's clock. Its exception
      ends the match and is passed on.
    - ``on_record`` gets the record once, before the first step. It grows while the match is played.

    Raises GameFault if the rules raised. Raises HostFault if the node failed or
    ``stop_after_seconds`` passed. Give more than ``clock.longest_seconds`` of `parallel_seats`,
    plus the waiting of all seats. Then no agent of this match can cause this HostFault, because all
    other time is charged. Waiting for turns on a shared GPU does not count, up to GPU_WAIT_SECONDS.
    """
    return _play(
        _Order(
            game,
            configuration,
            clock,
            seed,
            loans,
            max_parallel_seats=max_parallel_seats,
            stop_after_seconds=stop_after_seconds,
            waiting_seconds=waiting_seconds,
            forgive_lateness=forgive_lateness,
            stops_at_fault=stops_at_fault,
            on_step=on_step,
            on_record=on_record,
        )
    )


def continue_episode(
    game: Game[S],
    fork: Fork,
    seed: bytes,
    loans: Sequence[Loan | SeatRefused],
    *,
    max_parallel_seats: int,
    stop_after_seconds: float,
    waiting_seconds: float = WAITING_SECONDS,
    forgive_lateness: bool = False,
    on_step: Callable[[int], None] | None = None,
    on_record: Callable[[EpisodeRecord], None] | None = None,
) -> PlayedMatch:
    """Continue a recorded episode with its configuration and clock, like ``play_episode``.

    Until the fork each seat is asked what the record's seat was asked, with the recorded bank, and
    its answers change nothing. A fault there stands. ``seed`` seeds the seats, and the game's draws
    if they are new. A seat may spend half a bank more than the clock gives (SPARE_BANK), so that a
    slower machine repeats the record. The limit of ``stop_after_seconds`` is later by that time.
    """
    clock = Clock.from_json(fork.episode.clock)
    return _play(
        _Order(
            game,
            fork.episode.configuration,
            clock,
            seed,
            loans,
            max_parallel_seats=max_parallel_seats,
            stop_after_seconds=stop_after_seconds + len(loans) * SPARE_BANK * clock.bank_seconds,
            waiting_seconds=waiting_seconds,
            forgive_lateness=forgive_lateness,
            on_step=on_step,
            on_record=on_record,
            fork=fork,
        )
    )


@dataclass(frozen=True, slots=True)
class _Order:
    """What to play, with the arguments of ``play_episode`` and ``continue_episode``."""

    game: Game[Any]
    configuration: Mapping[str, Json]
    clock: Clock
    seed: bytes
    loans: Sequence[Loan | SeatRefused]
    max_parallel_seats: int
    stop_after_seconds: float
    waiting_seconds: float
    forgive_lateness: bool
    stops_at_fault: bool = False
    on_step: Callable[[int], None] | None = None
    on_record: Callable[[EpisodeRecord], None] | None = None
    fork: Fork | None = None


def _play(asked: _Order) -> PlayedMatch:
    stop_at = monotonic() + asked.stop_after_seconds
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(contextlib.closing(OwnRunQueue()))
        timing = MatchTiming(
            asked.clock, own, asked.waiting_seconds, forgives_host=asked.forgive_lateness
        )
        meters = {i: loan.meter for i, loan in enumerate(asked.loans) if isinstance(loan, Loan)}
        if asked.forgive_lateness and not all(meter.can_forgive for meter in meters.values()):
            timing = replace(timing, canary=stack.enter_context(DelayMonitor()))
        stack.enter_context(keep_time_first())  # threads begun from here on inherit the priority
        seats = [
            Seat(
                index,
                loan,
                timing,
                [meter for i, meter in meters.items() if i != index],
                asked.game.lenient,
            )
            for index, loan in enumerate(asked.loans)
        ]
        try:
            match = _RunningEpisode(asked, timing, seats, stop_at)
            match.stops_at_fault = asked.stops_at_fault
            if asked.fork is not None:
                match.continue_record(asked.fork)
            match.start()
            if asked.on_record is not None:
                asked.on_record(match.record)
            while match.step():
                if asked.on_step is not None:
                    asked.on_step(match.steps)
            return match.report()
        except StopReached:
            limit = asked.stop_after_seconds + match.gpu_waited_seconds
            raise HostFault(f"the match did not end within {limit:g} s") from None
        finally:
            with contextlib.suppress(HostFault):
                _end_seats(seats)


def parallel_seats(lent: Sequence[Loan | SeatRefused], max_parallel_seats: int) -> int:
    """How many of these seats may think at a time: one if boxes share a GPU."""
    shares_gpu = any(isinstance(loan, Loan) and loan.gpu_turn is not None for loan in lent)
    return 1 if shares_gpu else max_parallel_seats


def game_random(seed: bytes) -> Random:
    """The generator for the game's draws. Seats' seeds reveal nothing about it."""
    return Random(int.from_bytes(_derive_seed(seed, b"game"), "big"))  # noqa: S311 (a game's dice)


def seat_seed(seed: bytes, seat: int) -> bytes:
    """The 16 bytes that seed a seat's own generators."""
    return _derive_seed(seed, b"seat" + str(seat).encode())[:SEED_BYTES]


class _RunningEpisode:
    """The state of a running episode."""

    def __init__(
        self, asked: _Order, timing: MatchTiming, seats: Sequence[Seat], stop_at: float
    ) -> None:
        self._game = game = asked.game
        self._configuration = configuration = with_clock(
            game, asked.configuration, timing.clock.to_json()
        )
        self._clock, self._own = timing.clock, timing.own
        self._seed, self._seats = asked.seed, seats
        self._max_parallel_seats, self._stop_at = max(1, asked.max_parallel_seats), stop_at
        self._gpu_wait_seconds = GPU_WAIT_SECONDS / mirrored_pairs.episodes_per_match(game)
        self.gpu_waited_seconds = 0.0
        """How much later the match must end, because it waited for turns on a shared GPU."""
        self._random = game_random(asked.seed)
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
            return True
        if self._by_hand:
            moves = moves_after(self._game, self._state, moves, self._by_hand)
        answers = {seat.index: seat.record.answers[-1] for seat in able}
        with _game_faults("step"):
            self._state, chance = self._game.step(self._state, moves, self._random)
        self.record.add(moves, answers, chance)
        return True

    @contextlib.contextmanager
    def _hold_gpu(self, seat: Seat) -> Iterator[None]:
        """Hold the seat's GPU, if others share it. The match may end later by the waiting."""
        asked_at, left = monotonic(), self._gpu_wait_seconds - self.gpu_waited_seconds
        with seat.hold_gpu(self._stop_at + left):
            waited = min(left, monotonic() - asked_at) if seat.shares_gpu else 0.0
            self._stop_at += waited
            self.gpu_waited_seconds += waited
            yield

    def _give_recorded_banks(self, fork: Fork) -> None:
        """Give each seat the bank of the record, as far as its limit for the steps before the fork
        goes. Otherwise an agent could spend the recorded bank again in each step."""
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
                raise ValueError("nobody is to move and there is no outcome")
            _check_numbers(self._game, outcome)
        self._tell_end()
        _end_seats(self._seats)
        decided = self._deciding_fault()
        reports = tuple(_seat_report(seat, outcome, decided) for seat in self._seats)
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


def _check_numbers(game: Game[Any], outcome: Outcome) -> None:
    """Raise ValueError for numbers that a season cannot add up. An accepted result is final."""
    shares = {measure.name for measure in game.measures if measure.kind == "share"}
    told = [("reward", reward) for reward in outcome.rewards if reward is not None]
    told += [pair for seat in outcome.statistics for pair in seat.items()]
    for name, value in told:
        is_number = isinstance(value, int | float) and abs(value) <= LARGEST
        if not is_number or (name in shares and not 0 <= value <= 1):
            limits = "from 0 to 1" if name in shares else f"up to {LARGEST} on either side of 0"
            raise ValueError(f"{name} should be a number {limits}, it is {value!r:.100}")


def _seat_report(seat: Seat, outcome: Outcome, decided: SeatFault | None = None) -> SeatReport:
    """The report of a seat. ``decided`` is the fault of another seat that ended the match."""
    how = outcome.verdicts[seat.index]
    costs = [answer.cost.charged_seconds for answer in seat.record.answers]
    off_turn = sum(answer.off_turn_seconds for answer in seat.record.answers)
    pardons = seat.record.pardoned
    # A game may end a seat for pardoned faults that were never made good.
    fault = seat.fault or (pardons[how].first if how in pardons else None)
    if fault is None and decided is not None and how.is_fault:
        fault = stopped_fault(decided)
    return SeatReport(
        placement=outcome.placements[seat.index],
        reward=outcome.rewards[seat.index],
        verdict=how,
        reason=fault.reason if fault else None,
        failed_step=fault.step if fault else None,
        charged_seconds=round(sum(costs) + off_turn, 6),
        max_move_seconds=round(max(costs, default=0.0), 6),
        statistics=outcome.statistics[seat.index] if outcome.statistics else None,
        log=seat.log_blob(how),
        pardoned={kind: found.times for kind, found in pardons.items()},
        answered=seat.record.moved or not seat.record.answers,
    )


def _end_seats(seats: Sequence[Seat]) -> None:
    """End all processes in parallel. Raises the first HostFault."""
    end_all([loan for seat in seats for loan in seat.unended_loans()])
    for seat in seats:
        seat.end()


def _groups_of(seats: Sequence[Seat], size: int) -> list[Sequence[Seat]]:
    """Groups of ``size`` seats. A seat on a shared GPU is alone."""
    others = [seat for seat in seats if not seat.shares_gpu]
    chunks = [others[at : at + size] for at in range(0, len(others), max(1, size))]
    return [*chunks, *([seat] for seat in seats if seat.shares_gpu)]


def _derive_seed(seed: bytes, purpose: bytes) -> bytes:
    return hmac.new(seed, purpose, hashlib.sha256).digest()
