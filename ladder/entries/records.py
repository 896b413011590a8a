"""Records of agents, submissions and entries."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar

from pydantic import ConfigDict, Field

from ladder.enums import AgentMachines
from ladder.field_types import RECORD
from ladder.ids import AgentId, EntryId, LeagueId, MatchId, SeasonId, SubmissionId, TeamId

R = TypeVar("R")
SPARSE: Final = ConfigDict(use_attribute_docstrings=True)
"""For records whose fields with a default may be missing in an answer, in the OpenAPI document."""


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
    match that its owner asks for (a *try*; ``deadline_at``). A block of its people changes nothing
    until it is active again. A reinstatement brings it back as paused, and ends its wait."""
    TEAM_BLOCKED = "team_blocked"
    """Active to paused: all people of its team are blocked. It is never tried. Paused to active: a
    person of its team is not blocked any more. A reinstatement brings it back as active; it is
    paused again if the block still holds."""


@dataclass(frozen=True, slots=True)
class Agent:
    __pydantic_config__ = RECORD
    id: Annotated[AgentId, Field(examples=["age_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    team_id: TeamId
    team_name: str
    slug: Annotated[str, Field(examples=["flood"])]
    name: Annotated[str, Field(examples=["Flood"])]
    machines: AgentMachines
    """Which may run it; shown to everybody."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Submission:
    __pydantic_config__ = SPARSE
    id: Annotated[SubmissionId, Field(examples=["sub_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    number: int
    """Number among all submissions of the service."""
    version: int
    """Place among the submissions of its agent; 1 is the first."""
    agent_id: AgentId
    team_id: TeamId
    digest: str
    """SHA-256 of the bytes."""
    size_bytes: int
    filename: str
    message: str
    created_at: datetime
    url: str | None = None
    """Address of a remote agent; shown to its team alone."""


@dataclass(frozen=True, slots=True)
class ShownPlace:
    """The place of a validation in the queue, and the estimated wait."""

    __pydantic_config__ = SPARSE
    position: int
    """Number of validations that start before this one; 0: next or running."""
    eta_seconds: float | None
    """Until its validation should end; null if nothing known says so."""
    playing_seconds: float | None
    """Since its validation match began; null while it waits."""
    step: int | None = None
    """Steps played of its validation match; `GET` of one entry only."""
    most_steps: int | None = None
    """Most steps that it can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEntry:
    """An entry, as far as a viewer may see it."""

    __pydantic_config__ = SPARSE
    id: Annotated[EntryId, Field(examples=["ent_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    season_id: SeasonId
    league_id: LeagueId
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    submission_id: SubmissionId
    submission_number: int
    version: int
    """Place of the submission among those of its agent, from 1."""
    profile: str
    remote: bool
    """Whether the agent runs at its owner's address."""
    state: EntryState
    is_anchor: bool
    mu: float | None
    """Mean of the live rating. mu and sigma are null before the first rated match, and if a match
    has one seat; then the leaderboard shows what ranks the entry."""
    sigma: float | None
    games: int
    last_match_at: datetime | None
    created_at: datetime
    activated_at: datetime | None
    disqualified_at: datetime | None
    """Time of the disqualification: the entry is retired and its results do not count
    officially."""
    paused_at: datetime | None
    """Time when it was paused; it keeps its rank but is not paired."""
    pause_cause: PauseCause | None = None
    """unreachable: the third strike of a remote agent paused it; team_blocked: all people of its
    team are blocked; shown only to its team and graders."""
    strikes: int | None = None
    """Rated matches that a remote agent did not answer. Ten answered matches in a row remove one
    strike. The third strike pauses the entry; each further unanswered match is a loss. Shown only
    to its team and graders."""
    next_try_at: datetime | None = None
    """Time of the next automatic try of a paused entry; null during a try; shown only to its team
    and graders."""
    reason: str | None = None
    """Why it was rejected, paused or disqualified, what the last strike was, a warning of its
    validation, or which node a pending entry waits for; shown only to its team and graders."""
    validation_match_id: MatchId | None = None
    """Shown only to its team and graders."""
    queue: ShownPlace | None = None
    """While it waits; shown only to its team and graders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(ShownEntry):
    mu: float
    sigma: float
    strikes: int
    pairing_weight: float
    deadline_at: datetime | None
    """When its validation is late."""
    in_flight: int
    """Number of its rated matches that are queued or running."""
    faults: int
    is_rated: bool
    """False if matches have one seat; ``mu`` and ``sigma`` then mean nothing."""

    @property
    def has_score(self) -> bool:
        """Whether a rated game says anything about its score."""
        return self.is_rated and self.games > 0


def part_of_record(record: Any, kind: type[R]) -> R:
    """The fields of a record that this smaller kind has."""
    return kind(**{field.name: getattr(record, field.name) for field in fields(kind)})  # type: ignore[arg-type]


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
