"""Records of leagues and seasons."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ladder.enums import Json, ReplayVisibility, Visibility
from ladder.ids import LeagueId, SeasonId
from ladder.leagues.measures import Measure
from ladder.people.resources import LeagueResource

USUAL_BUNDLE_BYTES: Final = 100 << 20
"""Largest upload if a season does not say otherwise, and for an upload into no season."""
MOST_BUNDLE_BYTES: Final = 512 << 20
"""No season allows larger uploads."""
SECOND_RULES: Final = 2
"""Value of ``Season.rules_version`` for new seasons. A season keeps the rules that it began with.

A season of the first rules counts teams of equal score once for medals, and retires no paused entry
for a newer one. A try that passes clears its strikes, and every unanswered match of a remote agent
is void. Its teams may declare any active entry, also for the time after the upload lock, and
withdraw entries after the lock. Its fits leave faults out of the order also in games of two seats.
"""


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
    """Whether a season has taken remote agents, so the terms mention them."""
    takes_requests: bool
    """Whether people may ask to join; then everybody who knows its name may read its title."""
    live_delay_seconds: int
    """How long each step of a running match is held back from those who watch."""


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
    scrim_games_daily: int
    """Scrim games that a team may request in a UTC day."""
    active_limit: int | None
    """Highest number of active entries of an agent; new ones retire the oldest. None: no limit."""
    team_active_limit: int | None
    """Highest number of active entries of a team, over all its agents. None: no limit."""
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
    """Version of the official standings; 0 before the first fit."""
    medals: dict[str, Json]
    """``ladder.leagues.medals.MedalRules`` as JSON."""
    medal_confidence: float
    """Probability from which a medal is sealed, once uploads are locked."""
    stops_when_sealed: bool
    """Whether the season ends when every medal is sealed, before its end date."""
    revision: int
    measures: tuple[Measure, ...]
    """Measures that rank a one-seat season; empty if entries are rated."""
    remote_agents: bool
    """Whether remote agents may enter."""
    speed_class: str
    """Speed class of the machines that play the season; ``any``: all machines."""
    rules_version: int
    """Version of the rules of limits, strikes, representatives, medal counts and faults."""


def league_resource(league: League) -> LeagueResource:
    """Returns the permission resource of a league."""
    return LeagueResource(league.id, league.visibility, league.replay_visibility)
