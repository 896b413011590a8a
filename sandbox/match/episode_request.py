"""All that the referee needs to play one episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from games.forks import Fork
from games.protocol import Game, Json
from sandbox.errors import SeatRefused
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan
from sandbox.match.match_record import EpisodeRecord

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
    """The record to continue; ``continue_episode`` sets it."""
