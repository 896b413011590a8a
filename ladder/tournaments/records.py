"""Records of tournaments, their entrants and games."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from ladder.enums import Embargo, VoidCause
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
from ladder.tournaments.formats import Plan


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
    course_rules: int
    """``formats.OLD_RULES`` or ``formats.RULES``; fixed at the lock."""
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
    """Whether it was locked as a reference agent, which has no team-mates. False in a tournament
    that an older version locked: its rounds are paired by the old rule."""
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
