"""Records of matches, their seats and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Struct
from pydantic import Field

from ladder.enums import Embargo, FaultCause, Json, MatchKind, MatchState, VoidCause
from ladder.field_types import RECORD
from ladder.ids import (
    AgentId,
    EntryId,
    LeagueId,
    MatchId,
    ScrimId,
    SeasonId,
    SubmissionId,
    TeamId,
    TournamentId,
)


@dataclass(frozen=True, slots=True)
class AttemptFault:
    """Why an attempt had no result. No agent is to blame."""

    whose: Literal["worker", "host", "game"]
    detail: str
    """What happened, for operators and hosts."""
    cause: FaultCause | None = None


@dataclass(frozen=True, slots=True)
class Seat:
    """A seat of a match. What a viewer may not read is null."""

    __pydantic_config__ = RECORD
    seat: int
    entry_id: EntryId | None
    submission_id: SubmissionId
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    placement: int | None
    """1 is best; ties share a place."""
    reward: float | None
    verdict: Annotated[str | None, Field(examples=["DONE"])]
    reason: str | None
    """Why it failed, or a warning that it answered None; for those who may read its log."""
    failed_step: int | None
    """For those who may read its log."""
    charged_seconds: float | None
    """For those who may see the replay or read its log."""
    max_move_seconds: float | None
    """For those who may read its log."""
    log_digest: Annotated[str | None, Field(exclude=True)]
    statistics: dict[str, float] | None
    """Other statistics of the game, if a match has one seat."""
    mu_before: float | None
    mu_after: float | None
    remote: bool
    """Whether the agent played at its owner's address."""


@dataclass(frozen=True, slots=True)
class Episode:
    __pydantic_config__ = RECORD
    id: str
    number: int
    """The integer id in Kaggle's formats; gives no access."""
    position: int
    steps: int
    replay_digest: Annotated[str, Field(exclude=True)]


@dataclass(frozen=True, slots=True)
class MatchAccess:
    """What the viewer for whom a match was read may see beyond the match itself."""

    has_replay: bool = False
    log_seats: frozenset[int] = frozenset()
    """Seats whose log and reason the viewer may read. Those of other seats are not in the match."""


@dataclass(frozen=True, slots=True)
class Match:
    id: MatchId
    kind: MatchKind
    season_id: SeasonId
    league_id: LeagueId
    scrim_id: ScrimId | None
    scrim_team_id: TeamId | None
    """The team that asked for the scrim."""
    is_fork: bool
    """Whether it continues a recorded match."""
    game: str
    state: MatchState
    queue: str
    attempt: int
    max_attempts: int
    woken_at: datetime | None
    claimed_at: datetime | None
    deadline_at: datetime
    void_cause: VoidCause | None
    void_reason: str | None
    """The cause in words. Of attempts that were used up also a message of a machine, for hosts."""
    accepted_no: int | None
    seed: bytes
    created_at: datetime
    finished_at: datetime | None
    seats: tuple[Seat, ...]
    episodes: tuple[Episode, ...]
    access: MatchAccess = MatchAccess()
    """Empty if the match was read without a viewer."""
    tournament_id: TournamentId | None = None
    embargo: Embargo = Embargo.PUBLIC
    """Of a match of a tournament."""
    is_seed_kept: bool = False
    """Whether its tournament may still play a game with its seed, or hides its result."""

    @property
    def shown_seed(self) -> bytes | None:
        """The seed, once the match is over and no game of its tournament can have it any more."""
        is_over = self.state in (MatchState.FINISHED, MatchState.VOID)
        return self.seed if is_over and not self.is_seed_kept else None


class LineupSeat(Struct, frozen=True):
    """The entry in a seat of a new match; its index in the lineup is the seat.

    A struct, because it is created faster than a dataclass.
    """

    entry_id: EntryId | None
    submission_id: SubmissionId
    agent_id: AgentId
    team_id: TeamId
    profile: str = "numpy"


@dataclass(frozen=True, slots=True)
class ForkOrder:
    """The record that a game of a fork continues."""

    replay_digest: str
    step: int
    """Number of recorded steps before the fork."""
    seed: bytes | None
    """The record's seed, whose draws go on. None: new draws."""
    moves: Mapping[int, Sequence[Json]]
    """Moves by hand after the fork, by seat."""


@dataclass(frozen=True, slots=True)
class MatchOrder:
    """All that a worker needs to play one attempt; `claim_match` returns it."""

    match_id: MatchId
    attempt: int
    kind: MatchKind
    game: str
    configuration: dict[str, Json]
    clock: dict[str, Json]
    memory_mb: int
    seed: bytes
    lease_seconds: float
    profiles: tuple[str, ...]
    """Runtime profile by seat."""
    digests: tuple[str, ...]
    """Bundle digest by seat."""
    fork: ForkOrder | None = None
    """What the match continues, if it is a game of a fork."""
    excused_seats: frozenset[int] = frozenset()
    """Seats of remote agents without which the match is void. Agents in other seats lose."""


@dataclass(frozen=True, slots=True)
class SeatResult:
    """The result of one seat as the worker reports it to `finish_match`."""

    seat: int
    placement: int
    reward: float | None
    verdict: str
    reason: str | None
    """Why the seat failed, or a warning to the owner of one that did not."""
    failed_step: int | None
    charged_seconds: float
    max_move_seconds: float
    log_digest: str | None
    statistics: Mapping[str, float] | None = None
    """Other statistics of the game, if a match has one seat."""
    answered: bool = True
    """False if a remote agent answered none of its moves."""
    bundle_refused: bool = False
    """Whether the bundle was not unpacked. Such an upload does not count against the daily
    limit."""


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    steps: int
    replay_digest: str


class FinishResult(StrEnum):
    """Outcome of a reported result."""

    ACCEPTED = "accepted"
    """The result counts."""
    LATE = "late"
    """The attempt no longer holds the match. This is normal; the report changes nothing. A repeated
    report of an accepted result is late too."""
