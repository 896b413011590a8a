"""Plays one episode: asks the seats, keeps their time, judges their answers and records them.

The referee trusts the game and the node, but no agent. It returns when the game is over, whatever
the agents did. It raises only if no agent is to blame. All seats' processes end on every way out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Final

from games.forks import Fork
from games.protocol import Game, Json, S
from sandbox.errors import HostFault, SeatRefused
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.delay_monitor import DelayMonitor
from sandbox.match.loans import Loan
from sandbox.match.match_record import EpisodeRecord, PlayedMatch
from sandbox.match.match_timing import MatchTiming
from sandbox.match.questions import StopReached
from sandbox.match.running_episode import (
    SPARE_BANK,
    EpisodeRequest,
    RunningEpisode,
    end_seats,
)
from sandbox.match.seat import Seat
from sandbox.match.thread_priority import keep_time_first

WAITING_SECONDS: Final = 150.0
"""Most waiting for a core forgiven to a seat in one episode, by default."""


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
        EpisodeRequest(
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
        EpisodeRequest(
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


def _play(asked: EpisodeRequest) -> PlayedMatch:
    stop_at = monotonic() + asked.stop_after_seconds
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(contextlib.closing(OwnRunQueue()))
        timing = MatchTiming(
            asked.clock, own, asked.waiting_seconds, forgives_host=asked.forgive_lateness
        )
        meters = {i: loan.meter for i, loan in enumerate(asked.loans) if isinstance(loan, Loan)}
        if asked.forgive_lateness and not all(meter.can_forgive for meter in meters.values()):
            timing = replace(timing, delay_monitor=stack.enter_context(DelayMonitor()))
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
            match = RunningEpisode(asked, timing, seats, stop_at)
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
                end_seats(seats)


def parallel_seats(lent: Sequence[Loan | SeatRefused], max_parallel_seats: int) -> int:
    """How many of these seats may think at a time: one if boxes share a GPU."""
    shares_gpu = any(isinstance(loan, Loan) and loan.gpu_turn is not None for loan in lent)
    return 1 if shares_gpu else max_parallel_seats
