"""Plays a whole match: borrows boxes for each episode, has it refereed, gives the boxes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from games.protocol import Game, Json
from sandbox.errors import AgentAway, BundleRefused, SeatsAway
from sandbox.match import mirrored_pairs, referee
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan, SeatRequest
from sandbox.match.match_record import PlayedMatch
from sandbox.match.seat_loans import borrow_seats

BORROW_SECONDS: Final = 60.0
"""How long a match waits for its boxes. A later box still starts, and the next attempt uses it."""
WAITING_SECONDS: Final = 600.0
"""How much waiting for a core the seats of a match are forgiven together, in all its episodes.

All time of a match is charged to a seat, forgiven to one, or our own. What is charged ends with the
clock's allowances (``longest_seconds``), what is forgiven ends here, and OWN_SECONDS are ours:
so no agent can drag a match to ``stop_after_seconds``, which would make it the host's fault and
void. A seat that has used up its share, by putting itself last in the run queue of a busy node or
by bad luck, is charged by the wall from then on. With the longest clock a season may have, an hour,
a match still ends before the deadlines of the scheduler.
"""
OWN_SECONDS: Final = 60.0
FORGIVING_ATTEMPTS: Final = 2
"""A node late in so many attempts will be late again: then the time-out stands."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is played."""

    game: Game[Any]
    configuration: Mapping[str, Json]
    clock: Clock
    seed: bytes
    lineup: Sequence[SeatRequest]
    number: int
    """1 for the first attempt at this match."""
    needs_everybody: bool
    """Whether the match is played only if every remote agent answers before its first episode."""


@dataclass(frozen=True, slots=True)
class Lenders:
    """Who lends the boxes, and how many seats may think at the same time on their host."""

    node_socket: Path
    remote_socket: Path | None
    max_parallel_seats: int


def play(attempt: Attempt, lenders: Lenders) -> tuple[PlayedMatch, list[Loan]]:
    """The result of the match, and the loans that it was played with.

    Raises SeatsAway, and what `borrow_seats` and `referee.play` raise.
    """
    game, seats = attempt.game, len(attempt.lineup)
    steps = game.longest(attempt.configuration)
    longest_seconds = attempt.clock.longest_seconds(steps, seats, lenders.max_parallel_seats)
    waiting_seconds = WAITING_SECONDS / mirrored_pairs.episodes_per_match(game)
    loans: list[Loan] = []

    def episode(seated: tuple[int, ...]) -> PlayedMatch:
        asked = [attempt.lineup[member] for member in seated]
        node, remote = lenders.node_socket, lenders.remote_socket
        with borrow_seats(node, asked, BORROW_SECONDS, remote) as lent:
            # An owner who saw the first episode of a pair must not undo it by staying away from
            # the second: an agent that is away then loses, as one that goes silent in a game does.
            if attempt.needs_everybody and not loans:
                _refuse_away(seated, lent)
            loans.extend(loan for loan in lent if isinstance(loan, Loan))
            return referee.play_episode(
                game,
                attempt.configuration,
                attempt.clock,
                attempt.seed,
                lent,
                max_parallel_seats=lenders.max_parallel_seats,
                stop_after_seconds=longest_seconds + waiting_seconds + OWN_SECONDS,
                waiting_seconds=waiting_seconds / seats,
                forgive_lateness=attempt.number <= FORGIVING_ATTEMPTS,
            )

    return mirrored_pairs.play_match(game, seats, episode), loans


def _refuse_away(seated: Sequence[int], lent: Sequence[Loan | BundleRefused]) -> None:
    """Raises SeatsAway where a remote agent does not answer."""
    away = {
        member: one.reason
        for member, one in zip(seated, lent, strict=True)
        if isinstance(one, AgentAway)
    }
    if away:
        raise SeatsAway(away)
