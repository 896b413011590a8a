"""Records of the contest: what the store returns and the rules work on. All frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Self

from ladder.ids import (
    AgentId,
    EntryId,
    LeagueId,
    MatchId,
    ScrimId,
    SeasonId,
    SubmissionId,
    TeamId,
    UserId,
)
from ladder.profiles import REMOTE
from ladder.solo import Measure

Json = Any


class LadderError(Exception):
    """Something the contest refuses; the docstring of each subclass is its sentence."""

    def __str__(self) -> str:
        return super().__str__() or (type(self).__doc__ or "").strip()


class NotFound(LadderError):
    """There is no such thing, or it is not yours to see."""

    what: str | None = None
    """The kind of the missing thing, if one word names it, such as ``league``."""

    @classmethod
    def of(cls, what: str) -> Self:
        """The error for a missing thing of this kind."""
        error = cls(f"there is no such {what}")
        error.what = what
        return error


class Conflict(LadderError):
    """What was asked contradicts what already stands."""


class LimitReached(LadderError):
    """A stated limit is used up."""

    def __init__(self, limit: str, used: int, allowed: int, resets_at: datetime) -> None:
        self.limit = limit
        """Its name, for people."""
        self.used = used
        self.allowed = allowed
        self.left = max(0, allowed - used)
        self.resets_at = resets_at
        super().__init__(self._told())

    def _told(self) -> str:
        return (
            f"{self.limit}: {self.used} of {self.allowed} used, {self.left} left;"
            f" resets at {self._moment()}"
        )

    def _moment(self) -> str:
        whole = self.resets_at.astimezone(UTC) + timedelta(microseconds=999_999)  # not too early
        return f"{whole:%Y-%m-%d %H:%M:%S} UTC"


class Visibility(StrEnum):
    PUBLIC = "public"
    """Anyone may see the league."""
    INVITATION = "invitation"
    """Members and admins only; who holds one of its codes may join."""
    PRIVATE = "private"
    """Members and admins only."""


class ReplayVisibility(StrEnum):
    PUBLIC = "public"
    """Whoever may see the league may see its replays."""
    MEMBERS = "members"
    """Members of the league."""
    OWN = "own"
    """Teams that played in the match, and hosts."""
    AFTER_CLOSE = "after_close"
    """As OWN until the season is finished, then as PUBLIC."""


class LeagueRole(StrEnum):
    HOST = "host"
    """Runs the league."""
    COMPETITOR = "competitor"
    """May enter agents."""
    VIEWER = "viewer"
    """May look."""


class MatchKind(StrEnum):
    RATED = "rated"
    """Counts for the leaderboard."""
    VALIDATION = "validation"
    """A submission against copies of itself."""
    SCRIM = "scrim"
    """Unrated, by request, private."""


class MatchState(StrEnum):
    QUEUED = "queued"
    """Waits for a worker; void at its deadline."""
    RUNNING = "running"
    """Leased to a worker; queued again when the lease lapses."""
    FINISHED = "finished"
    """Accepted once and never changed."""
    VOID = "void"
    """Given up: nobody is rated."""


class EntryState(StrEnum):
    PENDING = "pending"
    """Waits for its validation match."""
    ACTIVE = "active"
    """Plays rated matches."""
    PAUSED = "paused"
    """A remote agent that was away: it keeps its place, is not paired, and is tried again."""
    REJECTED = "rejected"
    """Failed validation; the reason says why."""
    RETIRED = "retired"
    """Keeps its history and plays no more."""


@dataclass(frozen=True, slots=True)
class User:
    id: UserId
    name: str
    is_admin: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Team:
    id: TeamId
    slug: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks. A stranger has no user; scopes are those of the token or session used."""

    user_id: UserId | None = None
    name: str = ""
    is_admin: bool = False
    scopes: frozenset[str] = frozenset()
    team_ids: frozenset[TeamId] = frozenset()
    roles: dict[LeagueId, LeagueRole] = field(default_factory=dict)


STRANGER = Viewer()


@dataclass(frozen=True, slots=True)
class League:
    id: LeagueId
    slug: str
    title: str
    description: str
    game: str
    visibility: Visibility
    replay_visibility: ReplayVisibility
    state: str
    same_team_lineups: bool
    created_at: datetime
    remote_agents: bool
    """Whether it has had a season that takes them, so that its terms tell of them."""


@dataclass(frozen=True, slots=True)
class Season:
    id: SeasonId
    league_id: LeagueId
    number: int
    game: str
    configuration: dict[str, Json]
    clock: dict[str, Json]
    seats: int
    memory_mb: int
    max_bundle_bytes: int
    daily_limit: int
    active_limit: int | None
    """Active entries of an agent; the newest push the oldest out. None: all stay active."""
    mu0: float
    sigma0: float
    beta: float
    tau: float
    draw_probability: float
    fault_rule: str
    score_offset: float
    cadence_seconds: float
    max_in_flight: int
    max_attempts: int
    lease_seconds: float
    queue_seconds: float
    opens_at: datetime
    closes_at: datetime | None
    ends_at: datetime | None
    state: str
    accepted_no: int
    rated_no: int
    official_version: int
    """Of the standings; 0 before the first fit."""
    medals: dict[str, Json]
    """``ladder.medals.Rules`` as JSON."""
    medal_confidence: float
    """A medal is sealed from this probability on, once uploads are locked."""
    stops_when_sealed: bool
    """It ends once every medal is sealed, before its date if there is one."""
    revision: int
    measures: tuple[Measure, ...]
    """What it ranks by where a match has one seat; empty: everybody is rated against others."""
    remote_agents: bool
    """Whether agents at addresses of their owners may enter."""


@dataclass(frozen=True, slots=True)
class Agent:
    id: AgentId
    team_id: TeamId
    team_name: str
    slug: str
    name: str
    open_for_scrims: bool
    scrims_per_requester_daily: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Submission:
    id: SubmissionId
    number: int
    agent_id: AgentId
    team_id: TeamId
    digest: str
    size_bytes: int
    filename: str
    message: str
    created_at: datetime
    url: str | None
    """Where a remote agent answers, for its team alone; None: a bundle."""


@dataclass(frozen=True, slots=True)
class Entry:
    id: EntryId
    season_id: SeasonId
    league_id: LeagueId
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    submission_id: SubmissionId
    submission_number: int
    profile: str
    state: EntryState
    reason: str | None
    is_anchor: bool
    pairing_weight: float
    validation_match_id: MatchId | None
    deadline_at: datetime | None
    mu: float
    sigma: float
    games: int
    in_flight: int
    faults: int
    last_match_at: datetime | None
    created_at: datetime
    activated_at: datetime | None
    disqualified_at: datetime | None
    """Its state is retired then, and its results do not count officially."""
    is_rated: bool
    """False where matches have one seat: ``mu`` and ``sigma`` say nothing there."""
    strikes: int
    """Rated matches that a remote agent was away in, or did not answer; the third pauses it."""
    paused_at: datetime | None
    next_try_at: datetime | None
    """While it is paused: when it is tried again; None while it is being tried."""

    @property
    def remote(self) -> bool:
        """Whether it runs at an address of its owner's."""
        return self.profile == REMOTE


@dataclass(frozen=True, slots=True)
class Seat:
    seat: int
    entry_id: EntryId | None
    submission_id: SubmissionId
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    placement: int | None
    reward: float | None
    verdict: str | None
    reason: str | None
    failed_step: int | None
    charged_seconds: float | None
    max_move_seconds: float | None
    log_digest: str | None
    statistics: dict[str, float] | None
    """What the game says besides, where a match has one seat."""
    mu_before: float | None
    mu_after: float | None
    remote: bool
    """It played at an address of its owner's."""


@dataclass(frozen=True, slots=True)
class Episode:
    id: str
    number: int
    position: int
    steps: int
    replay_digest: str


@dataclass(frozen=True, slots=True)
class Match:
    id: MatchId
    kind: MatchKind
    season_id: SeasonId
    league_id: LeagueId
    scrim_id: ScrimId | None
    scrim_team_id: TeamId | None
    game: str
    state: MatchState
    queue: str
    attempt: int
    max_attempts: int
    rung_at: datetime | None
    claimed_at: datetime | None
    deadline_at: datetime
    void_reason: str | None
    accepted_no: int | None
    seed: bytes
    created_at: datetime
    finished_at: datetime | None
    seats: tuple[Seat, ...]
    episodes: tuple[Episode, ...]


@dataclass(frozen=True, slots=True)
class Scrim:
    id: ScrimId
    season_id: SeasonId
    league_id: LeagueId
    team_id: TeamId
    requested_by: UserId
    lineup: tuple[SubmissionId, ...]
    games: int
    state: str
    finished_games: int
    void_games: int
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class LineupSeat:
    """Who sits where when a match is made; the place in the sequence is the seat."""

    entry_id: EntryId | None
    submission_id: SubmissionId
    agent_id: AgentId
    team_id: TeamId
    profile: str = "numpy"


@dataclass(frozen=True, slots=True)
class Order:
    """Everything a worker needs to play one attempt; what `claim` returns."""

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


@dataclass(frozen=True, slots=True)
class SeatResult:
    """One seat's end as the worker reports it to `finish`."""

    seat: int
    placement: int
    reward: float | None
    verdict: str
    reason: str | None
    failed_step: int | None
    charged_seconds: float
    max_move_seconds: float
    log_digest: str | None
    statistics: Mapping[str, float] | None = None
    """What the game says besides, where a match has one seat."""
    answered: bool = True
    """False: a remote agent that answered not one of the moves it was asked for."""


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    steps: int
    replay_digest: str


class Finish(StrEnum):
    """What became of a reported result."""

    ACCEPTED = "accepted"
    """It is the match's result."""
    LATE = "late"
    """Another attempt holds the match or has finished it: dropped, a normal answer."""
