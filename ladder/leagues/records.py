"""Leagues and seasons as the database has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ladder.enums import Json, ReplayVisibility, Visibility
from ladder.ids import LeagueId, SeasonId
from ladder.leagues.measures import Measure
from ladder.people.permissions import LeagueResource


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
    """``ladder.leagues.medals.MedalRules`` as JSON."""
    medal_confidence: float
    """A medal is sealed from this probability on, once uploads are locked."""
    stops_when_sealed: bool
    """It ends once every medal is sealed, before its date if there is one."""
    revision: int
    measures: tuple[Measure, ...]
    """What it ranks by where a match has one seat; empty: everybody is rated against others."""
    remote_agents: bool
    """Whether agents at addresses of their owners may enter."""


def league_resource(league: League) -> LeagueResource:
    """The resource a league is."""
    return LeagueResource(league.id, league.visibility, league.replay_visibility)
