"""Records of tournaments, and what people ask for, with the bounds of each value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from ladder.enums import Embargo, VoidCause
from ladder.field_types import AwareDatetime, Key, Line, Name, Text
from ladder.ids import (
    AgentId,
    EntryId,
    LeagueId,
    MatchId,
    SeasonId,
    SubmissionId,
    TeamId,
    TournamentId,
)
from ladder.tournaments.formats.plan import Plan


class TournamentState(StrEnum):
    """Each state before RUNNING, and a pause, ends at a stated time. Then the scheduler acts."""

    DRAFT = "draft"
    """Only hosts see it. Registration has not begun."""
    REGISTRATION = "registration"
    """Entrants may enter until the lock."""
    CHECK_IN = "check_in"
    """Entrants must say that they take part, until the lock."""
    LOCKED = "locked"
    """Entrants, their submissions and the seed order are fixed. It waits for its start."""
    RUNNING = "running"
    """It ends with its last round. A round that takes too long is a problem that hosts see."""
    PAUSED = "paused"
    """No new games start until a host resumes it or the pause ends."""
    FINISHED = "finished"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self in (TournamentState.FINISHED, TournamentState.CANCELLED)

    @property
    def is_before_lock(self) -> bool:
        return self in (
            TournamentState.DRAFT,
            TournamentState.REGISTRATION,
            TournamentState.CHECK_IN,
        )


NO_CHAMPION: Final = "all agents withdrew or were disqualified"


def no_champion(state: TournamentState, champion: object | None) -> str | None:
    """Why a tournament that is finished has no champion; None if it has one or is not finished."""
    return NO_CHAMPION if state is TournamentState.FINISHED and champion is None else None


class EntryRule(StrEnum):
    """Who may enter."""

    OPEN = "open"
    """Every team that may enter the league."""
    INVITATION = "invitation"
    """Teams whose agents a host invited."""
    TOP = "top"
    """The best teams of the season's official standing at the lock."""


class EntrantState(StrEnum):
    INVITED = "invited"
    """A host invited it; its team has not entered it yet."""
    ENTERED = "entered"
    LEFT_OUT = "left_out"
    """It does not play: it had no validated submission at the lock, or did not check in."""
    WITHDRAWN = "withdrawn"
    DISQUALIFIED = "disqualified"


class GameOutcome(StrEnum):
    """What a finished match of a tournament means for its course."""

    COUNTED = "counted"
    VOID = "void"
    """It has no result; another match is played for the same game."""
    PROPOSED = "proposed"
    """A rejudgement that ended, maybe void, and that a host has not decided yet."""
    REPLACED = "replaced"
    """A rejudgement counts instead."""
    STALE = "stale"
    """Its pairing is not played any more, after a rejudgement or a walk-over."""


@dataclass(frozen=True, slots=True)
class Tournament:
    id: TournamentId
    league_id: LeagueId
    season_id: SeasonId
    title: str
    description: str
    plan: Plan
    state: TournamentState
    entry_rule: EntryRule
    most_entrants: int
    agents_per_team: int
    remote_agents: bool
    away_minutes: float
    """How long a game waits for a remote agent that is away. Then that agent loses it."""
    check_in_minutes: float
    """Length of the check-in before the lock; 0: none."""
    locks_at: datetime
    starts_at: datetime
    round_minutes: float
    """After this time a round that is not finished tells why and what a host can do."""
    resumes_at: datetime | None
    embargo: Embargo
    """Who sees new matches."""
    draw_seed: bytes
    """Secret until the tournament is over."""
    draw_digest: str
    """SHA-256 of the seed."""
    position: str
    """Stage and round that is played, as in ``1.2``."""
    problem: str | None
    champion: int | None
    end_reason: str | None
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Entrant:
    """An agent in a tournament. ``number`` and the three after it are fixed at the lock."""

    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    """Present team of the agent; another one than at the lock after a merge of teams."""
    team_name: str
    team_id_at_lock: TeamId
    """Before the lock the team that entered it. Agents of one team do not meet in a Swiss stage,
    whatever teams merge later."""
    is_reference: bool
    """Whether it was locked as a reference agent, which has no team-mates."""
    state: EntrantState
    checked_in_at: datetime | None
    number: int | None
    """Place in the seed order: 1 is the best seed."""
    entry_id: EntryId | None
    submission_id: SubmissionId | None
    profile: str | None
    score: float | None
    """Official score; None: the draw gave the seed."""
    deviation: float | None
    last_position: str | None
    """Last round that was paired before it withdrew or was disqualified."""
    reason: str | None
    is_remote: bool
    is_erased: bool
    """Whether the account of its team's owner was deleted."""


@dataclass(frozen=True, slots=True)
class TournamentGame:
    """A match for one game of a pairing."""

    match_id: MatchId
    pairing: str
    """Stage, round and number, as in ``1.2.3``."""
    game: int
    entrants: tuple[int, ...]
    """Numbers by seat."""
    embargo: Embargo
    outcome: GameOutcome | None
    is_rejudgement: bool
    state: str
    """State of the match."""
    void_cause: VoidCause | None
    void_reason: str | None
    places: tuple[int, ...]
    """By seat; empty without a result."""
    rewards: tuple[float, ...]
    team_ids: frozenset[TeamId]
    finished_at: datetime | None


class NewTournament(BaseModel):
    """A tournament to create. It plays with the rules of one season of the league."""

    model_config = ConfigDict(extra="forbid")
    title: Name
    description: Text = ""
    season: Annotated[Key | None, Field(description="default: the league's current season")] = None
    plan: Annotated[
        dict[str, Any],
        Field(
            description="stages, each with its format; docs/how-to/hold-a-tournament.md",
            examples=[{"stages": [{"format": "single_elimination"}]}],
        ),
    ]
    entry_rule: EntryRule = EntryRule.OPEN
    most_entrants: Annotated[int, Field(ge=2, le=1024)] = 64
    agents_per_team: Annotated[int, Field(ge=1, le=16)] = 1
    remote_agents: bool = False
    away_minutes: Annotated[float, Field(ge=0, le=60)] = 5.0
    check_in_minutes: Annotated[float, Field(ge=0, le=1440)] = 0.0
    locks_at: Annotated[AwareDatetime | None, Field(description="default: in 24 hours")] = None
    starts_at: Annotated[AwareDatetime | None, Field(description="default: at the lock")] = None
    round_minutes: Annotated[float, Field(ge=1, le=10080)] = 60.0
    embargo: Embargo = Embargo.PUBLIC
    is_draft: Annotated[bool, Field(description="false: registration begins at once")] = False


TournamentActName = Literal["open", "lock", "start", "pause", "resume", "cancel"]


class TournamentAct(BaseModel):
    """An act of a host on a tournament."""

    model_config = ConfigDict(extra="forbid")
    act: TournamentActName
    reason: Line = ""


class NewEntrant(BaseModel):
    """An agent to enter; by a host of the league also one to invite."""

    model_config = ConfigDict(extra="forbid")
    agent: Key


class EntrantAct(BaseModel):
    """An act of a team on its entrant."""

    model_config = ConfigDict(extra="forbid")
    act: Literal["check-in", "withdraw"]


class EntrantDisqualification(BaseModel):
    """Why a host disqualifies an entrant. The entrants read it."""

    model_config = ConfigDict(extra="forbid")
    reason: Annotated[Line, Field(min_length=1)]


PAIRING = r"^\d{1,3}\.\d{1,5}\.\d{1,5}$"


class GameRejudgement(BaseModel):
    """Games of a pairing to judge again."""

    model_config = ConfigDict(extra="forbid")
    pairing: Annotated[str, Field(pattern=PAIRING, examples=["1.2.3"])]
    game: Annotated[int | None, Field(ge=1, le=4096, description="default: all that count")] = None
    reason: Annotated[Line, Field(min_length=1)]


class RejudgementDecision(BaseModel):
    """What becomes of the new results of a pairing."""

    model_config = ConfigDict(extra="forbid")
    pairing: Annotated[str, Field(pattern=PAIRING, examples=["1.2.3"])]
    act: Literal["apply", "drop"]


class Reveal(BaseModel):
    """Who may see matches from now on."""

    model_config = ConfigDict(extra="forbid")
    embargo: Embargo
    pairing: Annotated[
        str | None,
        Field(pattern=PAIRING, description="default: all pairings so far"),
    ] = None


class NewShow(BaseModel):
    """A show: a page for a screen, at a secret address."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"hours": 12}]})
    hours: Annotated[float, Field(ge=0.1, le=336, description="how long the address works")] = 12.0
    scene_seconds: Annotated[
        float | None,
        Field(
            ge=1,
            le=3600,
            description="the page goes on by itself after this time; default: by key alone",
        ),
    ] = None
