"""Records of a board: what decides it, and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ladder.field_types import RECORD
from ladder.ids import AgentId, EntryId, TeamId
from ladder.leagues.measures import Estimate
from ladder.leagues.medals import Medal, MedalRules, MedalStatus
from ladder.ratings.official.standing import OfficialPlace


class StandsBy(StrEnum):
    """Why an entry represents its team."""

    DECLARED = "declared"
    """The team's owner declared it."""
    NEWEST = "newest"
    """It is the team's newest entry with enough games."""
    WAITING = "waiting"
    """The team's newer entries have not played enough games yet."""
    BETTER = "better"
    """It is surely better than the team's newest entry."""


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """An active or paused entry for the board."""

    entry_id: EntryId
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    mu: float
    sigma: float
    games: int
    last_match_at: datetime | None
    is_anchor: bool
    is_declared: bool = False
    """Whether its team declared it."""
    official: OfficialPlace | None = None
    """None before the first fit that includes it."""
    estimates: tuple[Estimate, ...] = ()
    """Estimates by the season's measures, if it ranks by measures."""
    remote: bool = False
    paused: bool = False
    twin: str = ""
    """Entries of equal score and equal twin count once for medals: they have equal bytes or share a
    place."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One row of the board."""

    rank: int | None
    """1 is best; equal scores share a rank, and the next rank follows directly. None for an anchor,
    and for a team that has not played yet.
    """
    team_id: TeamId
    team_name: str
    agent_id: AgentId
    agent_name: str
    entry_id: EntryId
    score: float
    """Live score, as are mu and sigma: each match changes it."""
    mu: float
    sigma: float
    games: int
    last_match_at: datetime | None
    medal: Medal | None
    is_anchor: bool
    official: OfficialPlace | None = None
    """Official place, whose score decides the rank."""
    status: MedalStatus | None = None
    """Status of the medal; None without one."""
    sealed: Medal | None = None
    """Sealed class: the team keeps it or gets a better one."""
    is_declared: bool = False
    """Whether the owner declared this entry."""
    stands_by: StandsBy | None = None
    """Why the entry represents its team; None if the team has no other or matches have one seat."""
    estimates: tuple[Estimate, ...] = ()
    """Values that decide the rank if matches have one seat; the score then means nothing."""
    remote: bool = False
    """Whether the agent runs at an address of its owner."""
    paused: bool = False
    """Whether the entry is paused: it keeps its rank and is not paired."""

    @property
    def has_score(self) -> bool:
        """Whether a game says anything about its score."""
        return self.games > 0 or self.official is not None

    @property
    def score_and_sigma(self) -> tuple[float, float]:
        """Returns score and sigma for the rank: official, or live before the first fit."""
        place = self.official
        return (self.score, self.sigma) if place is None else (place.score, place.sigma)

    @property
    def chance(self) -> float | None:
        """Returns the chance of this medal or a better one; None without a medal or a fit."""
        if self.medal is None or self.official is None:
            return None
        return self.official.chances[list(Medal).index(self.medal)]


@dataclass(frozen=True, slots=True)
class OfficialVersion:
    """The version of the official standing on the leaderboard."""

    __pydantic_config__ = RECORD
    version: int
    log_no: int
    """It includes every result up to this number."""
    made_at: datetime
    wrong_medals: float
    """Expected number of medals of a class that is not deserved."""


@dataclass(frozen=True, slots=True)
class MedalTerms:
    """Medal rules of a season, and their progress."""

    rules: MedalRules = field(default_factory=MedalRules)
    """With a number for each line."""
    confidence: float = 0.95
    """Confidence from which a medal is sealed, once uploads are locked."""
    teams: int | None = None
    """Number of teams for the medals, equal bundles counted once; None: the ranked teams.

    It includes teams with a valid entry that has not played.
    """
    sealed: Mapping[TeamId, Medal] = field(default_factory=dict)
    is_final: bool = False
    """Whether the standing is the last one, which awards medals that are not sealed."""
    stated: MedalRules = field(default_factory=MedalRules)
    """The rules as the host states them: reference agents may name lines."""
