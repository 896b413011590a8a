"""Records of matches, their seats and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from ladder.enums import Embargo, FaultCause, Json, MatchKind, MatchState, VoidCause
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
from ladder.leagues.records import League, league_resource
from ladder.people.resources import (
    HIDDEN_SECONDS,
    PRIVATE,
    MatchResource,
    ReplayResource,
    ScrimResource,
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
    """Other statistics of the game, if a match has one seat."""
    mu_before: float | None
    mu_after: float | None
    remote: bool
    """Whether a remote agent played."""


@dataclass(frozen=True, slots=True)
class Episode:
    id: str
    number: int
    position: int
    steps: int
    replay_digest: str


@dataclass(frozen=True, slots=True)
class ForkedMatch:
    """The match that a fork continues, and what decides who may see its replay."""

    match_id: MatchId
    position: int
    step: int
    kind: MatchKind
    team_ids: frozenset[TeamId]
    is_season_finished: bool


@dataclass(frozen=True, slots=True)
class Match:
    id: MatchId
    kind: MatchKind
    season_id: SeasonId
    league_id: LeagueId
    scrim_id: ScrimId | None
    scrim: ScrimResource | None
    """Who sees it, if it belongs to a scrim."""
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
    fork: ForkedMatch | None = None
    """What the match continues, if it is a game of a fork."""
    tournament_id: TournamentId | None = None
    embargo: Embargo = Embargo.PUBLIC
    """Of a match of a tournament."""
    entrant_team_ids: frozenset[TeamId] = frozenset()
    """Teams of all entrants of its tournament while there is an embargo."""
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


def match_resource(match: Match, league: League) -> MatchResource:
    """Returns the permission resource of a match of this league."""
    fork, scrim = match.fork, match.scrim
    if fork is not None and scrim is not None:
        scrim = replace(scrim, continues=continued_replay(fork, league, scrim.team_id))
    is_hidden = match.state is MatchState.QUEUED or (
        match.state is MatchState.RUNNING
        and any(seat.remote for seat in match.seats)
        and match.claimed_at is not None
        and datetime.now(UTC) - match.claimed_at < timedelta(seconds=HIDDEN_SECONDS)
    )
    return MatchResource(
        match.kind,
        league_resource(league),
        frozenset(seat.team_id for seat in match.seats),
        scrim,
        match.embargo,
        match.entrant_team_ids,
        is_lineup_hidden=is_hidden,
        away_team_ids=frozenset(
            seat.team_id
            for seat in match.seats
            if seat.remote and match.state is MatchState.RUNNING
        ),
    )


def continued_replay(fork: ForkedMatch, league: League, team_id: TeamId) -> ReplayResource:
    """Returns the permission resource of the replay that a fork of this team continues."""
    seen = league_resource(league)
    scrim = None
    if fork.kind is MatchKind.SCRIM:  # only the team that asked for a scrim forks it
        scrim = ScrimResource(team_id, frozenset({team_id}), seen, PRIVATE)
    origin = MatchResource(fork.kind, seen, fork.team_ids, scrim)
    return ReplayResource(origin, True, fork.is_season_finished)


def replay_resource(match: Match, league: League, season_state: str) -> ReplayResource:
    """Returns the permission resource of the replay of a match of this league."""
    return ReplayResource(
        match_resource(match, league),
        match.state is MatchState.FINISHED,
        season_state == "finished",
    )
