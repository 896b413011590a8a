"""Plays a whole match: borrows boxes for each episode, plays it and gives the boxes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from games.forks import Fork
from games.protocol import Game, Json
from sandbox.errors import AgentAway, SeatRefused, SeatsAway
from sandbox.match import match_record, referee
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan, SeatRequest, borrow_seats
from sandbox.match.match_record import EpisodeRecord, PlayedMatch
from sandbox.match.referee import EpisodeRequest

BORROW_SECONDS: Final = 60.0
"""How long a match waits for its boxes. The next attempt uses a box that comes later."""
WAITING_SECONDS: Final = 600.0
"""Most waiting for a core that is forgiven in a match, over all seats and episodes.

All time of a match is charged to a seat, forgiven to a seat, our own, or waiting for a shared GPU.
Each part has a limit: ``longest_seconds``, this number, OWN_SECONDS and
``referee.GPU_WAIT_SECONDS``. So no agent can drag its own match to ``stop_after_seconds``,
which would void it as the host's fault. If boxes share a GPU, other matches can do so only by
keeping the GPU busy for more than GPU_WAIT_SECONDS of this match's turns.

A seat that has used up its share pays wall time from then on. Even with the longest clock of a
season, an hour, the match ends before the scheduler's deadlines.
"""
OWN_SECONDS: Final = 60.0
FORGIVING_ATTEMPTS: Final = 2
"""Attempts that a late node may void. After that a time-out stands."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a match: what to play."""

    game: Game[Any]
    configuration: Mapping[str, Json]
    clock: Clock
    seed: bytes
    lineup: Sequence[SeatRequest]
    number: int
    """1 for the first attempt at this match."""
    excused_seats: frozenset[int]
    """Seats whose remote agents must answer before the first episode, or nobody plays."""
    stops_at_fault: bool = False
    """Whether the first fault of a seat decides the match, as in a validation."""
    fork: Fork | None = None
    """The record that the match continues. Such a match has one episode."""


@dataclass(frozen=True, slots=True)
class Lenders:
    """The sockets of the lending daemons, and how many seats may think at a time on their host."""

    node_socket: Path
    remote_socket: Path | None
    max_parallel_seats: int


def play(
    attempt: Attempt, lenders: Lenders, on_record: Callable[[EpisodeRecord], None] | None = None
) -> tuple[PlayedMatch, list[Loan]]:
    """Play the match. Returns its result and all its loans.

    ``on_record`` gets the growing record of each episode before its first step.

    Raises SeatsAway, and the errors of `borrow_seats` and `play_episode`.
    """
    game, seats = attempt.game, len(attempt.lineup)
    steps = game.longest(attempt.configuration)
    waiting_seconds = WAITING_SECONDS / match_record.episodes_per_match(game)
    loans: list[Loan] = []

    def episode(seated: tuple[int, ...]) -> PlayedMatch:
        requests = [attempt.lineup[member] for member in seated]
        node, remote = lenders.node_socket, lenders.remote_socket
        with borrow_seats(node, requests, BORROW_SECONDS, remote) as lent:
            # Only before the first episode: an owner who has seen it must not undo the pair by
            # leaving. In the second episode an unreachable agent loses.
            if not loans:
                _check_agents_reachable(seated, lent, attempt.excused_seats)
            loans.extend(loan for loan in lent if isinstance(loan, Loan))
            parallel = referee.parallel_seats(lent, lenders.max_parallel_seats)
            longest_seconds = attempt.clock.longest_seconds(steps, seats, parallel)
            request = EpisodeRequest(
                game,
                attempt.configuration,
                attempt.clock,
                attempt.seed,
                lent,
                max_parallel_seats=parallel,
                stop_after_seconds=longest_seconds + waiting_seconds + OWN_SECONDS,
                waiting_seconds=waiting_seconds / seats,
                forgive_lateness=attempt.number <= FORGIVING_ATTEMPTS,
                stops_at_fault=attempt.stops_at_fault,
                on_record=on_record,
                fork=attempt.fork,
            )
            return referee.play_episode(request)

    if attempt.fork is not None:
        return episode(tuple(range(seats))), loans
    return match_record.play_match(game, seats, episode), loans


def _check_agents_reachable(
    seated: Sequence[int], lent: Sequence[Loan | SeatRefused], excused: frozenset[int]
) -> None:
    """Raise SeatsAway if a remote agent in an excused seat does not answer."""
    away = {
        member: loan.reason
        for member, loan in zip(seated, lent, strict=True)
        if isinstance(loan, AgentAway) and member in excused
    }
    if away:
        raise SeatsAway(away)
