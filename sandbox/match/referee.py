"""Plays one episode: asks the seats, keeps their time, judges their answers and records them.

The referee trusts the game and the node, but no agent. It returns when the game is over, whatever
the agents did. It raises only if no agent is to blame. All seats' processes end on every way out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from games.forks import Fork
from sandbox.errors import HostFault, SeatRefused
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import OwnRunQueue
from sandbox.match.delay_monitor import DelayMonitor
from sandbox.match.episode_request import EpisodeRequest
from sandbox.match.loans import Loan
from sandbox.match.match_record import PlayedMatch
from sandbox.match.match_timing import MatchTiming
from sandbox.match.questions import StopReached
from sandbox.match.running_episode import SPARE_BANK, RunningEpisode, end_seats
from sandbox.match.seat import Seat
from sandbox.match.thread_priority import keep_time_first


def play_episode(request: EpisodeRequest) -> PlayedMatch:
    """Play one episode from reset to end.

    Raises GameFault if the rules raised. Raises HostFault if the node failed or
    ``stop_after_seconds`` passed.
    """
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


def continue_episode(request: EpisodeRequest, fork: Fork) -> PlayedMatch:
    """Continue a recorded episode like ``play_episode``, with the record's configuration and clock.

    Before the fork the referee sends each seat the recorded observations and bank, and ignores its
    answers. A fault before the fork still counts. The request's seed seeds the seats, and the
    game's draws if they are new. Before the fork a seat may use half a bank more than the clock
    gives (SPARE_BANK), so that slower machines can repeat the record. ``stop_after_seconds`` grows
    by the same time for each seat.
    """
    clock = Clock.from_json(fork.episode.clock)
    spare_seconds = len(request.loans) * SPARE_BANK * clock.bank_seconds
    return play_episode(
        replace(
            request,
            configuration=fork.episode.configuration,
            clock=clock,
            stop_after_seconds=request.stop_after_seconds + spare_seconds,
            fork=fork,
        )
    )


def parallel_seats(lent: Sequence[Loan | SeatRefused], max_parallel_seats: int) -> int:
    """How many of these seats may think at a time: one if boxes share a GPU."""
    shares_gpu = any(isinstance(loan, Loan) and loan.gpu_turn is not None for loan in lent)
    return 1 if shares_gpu else max_parallel_seats
