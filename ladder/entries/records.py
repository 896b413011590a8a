"""Agents, submissions and entries as the database has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ladder.ids import AgentId, EntryId, LeagueId, MatchId, SeasonId, SubmissionId, TeamId
from ladder.profiles import REMOTE


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
