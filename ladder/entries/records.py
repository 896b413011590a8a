"""Records of agents, submissions and entries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ladder.enums import AgentMachines
from ladder.ids import AgentId, EntryId, LeagueId, MatchId, SeasonId, SubmissionId, TeamId
from ladder.runtime_profiles import REMOTE


class EntryState(StrEnum):
    PENDING = "pending"
    """Waits for its validation match."""
    ACTIVE = "active"
    """Plays rated matches."""
    PAUSED = "paused"
    """Keeps its rank and is not paired; the PauseCause says why and what ends it."""
    REJECTED = "rejected"
    """Failed validation; the reason says why."""
    RETIRED = "retired"
    """Keeps its history and plays no more matches."""


class PauseCause(StrEnum):
    """Why an entry is paused, and so what begins and ends its pause.

    Whatever the cause, a paused entry is retired if its team withdraws it or is dissolved, if its
    owner's account is deleted, and if a host disqualifies it. In a finished season it stays paused.
    """

    UNREACHABLE = "unreachable"
    """Active to paused: by the third strike of a remote agent, and by each match that it does not
    answer after that.

    Paused to active: its wait ends (``next_try_at``; the waits grow), or it passes a validation
    match that its owner asks for (a *try*; ``deadline_at``). In a season of the first rules a try
    comes at the end of each wait, and no passed try for seven days makes it retired. A block of its
    people changes nothing until it is active again. A reinstatement brings it back as paused, and
    ends its wait."""
    TEAM_BLOCKED = "team_blocked"
    """Active to paused: all people of its team are blocked. It is never tried. Paused to active: a
    person of its team is not blocked any more. A reinstatement brings it back as active; it is
    paused again if the block still holds."""


@dataclass(frozen=True, slots=True)
class Agent:
    id: AgentId
    team_id: TeamId
    team_name: str
    slug: str
    name: str
    machines: AgentMachines
    """Which machines may run it."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Submission:
    id: SubmissionId
    number: int
    """Number among all submissions of the service."""
    version: int
    """Number among the submissions of the agent; 1 is the first."""
    agent_id: AgentId
    team_id: TeamId
    digest: str
    size_bytes: int
    filename: str
    message: str
    created_at: datetime
    url: str | None
    """Address of a remote agent, for its team alone; None: a bundle."""


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
    version: int
    """Number of the submission among those of the agent; 1 is the first."""
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
    """When it was disqualified. It is then retired, and its results do not count officially."""
    is_rated: bool
    """False if matches have one seat; ``mu`` and ``sigma`` then mean nothing."""
    strikes: int
    """Rated matches in which the remote agent was unreachable or answered nothing; the third pauses
    the entry."""
    pause_cause: PauseCause | None
    """None unless it is paused."""
    paused_at: datetime | None
    next_try_at: datetime | None
    """Time of a paused entry's next try; None during a try."""

    @property
    def has_score(self) -> bool:
        """Whether a rated game says anything about its score."""
        return self.is_rated and self.games > 0

    @property
    def remote(self) -> bool:
        """Whether the agent runs at an address of its owner."""
        return self.profile == REMOTE


@dataclass(frozen=True, slots=True)
class Newcomers:
    """Numbers of entries whose first rated match has not ended, as far as a viewer may see them.

    Anchors do not count.
    """

    validating: int
    """Entries in validation."""
    waiting: int
    """Active entries without a queued or running rated match."""
    playing: int
    """Active entries whose first rated matches are queued or running."""
