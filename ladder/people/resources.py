"""The resources that people ask for; ``permissions`` decides who may see each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ladder.enums import (
    Embargo,
    LogAudience,
    MatchKind,
    ReplayVisibility,
    ScrimAudience,
    Visibility,
)
from ladder.field_types import RECORD
from ladder.ids import LeagueId, TeamId, UserId


@dataclass(frozen=True, slots=True)
class LeagueResource:
    """A league, its seasons, its board, the entries on it."""

    league_id: LeagueId
    visibility: Visibility
    replay_visibility: ReplayVisibility = ReplayVisibility.PUBLIC


@dataclass(frozen=True, slots=True)
class TeamResource:
    """A team, or an agent of it."""

    team_id: TeamId
    leagues: tuple[LeagueResource, ...]
    """Leagues whose board has shown the team or agent."""


@dataclass(frozen=True, slots=True)
class TeamPeopleResource:
    """The names of the people of a team."""

    team_id: TeamId
    leagues: tuple[LeagueResource, ...]
    """Leagues whose board has shown the team."""


@dataclass(frozen=True, slots=True)
class EntryResource:
    """The existence and state of an entry."""

    team_id: TeamId
    league: LeagueResource
    is_on_board: bool
    """Active, or retired after being active."""


@dataclass(frozen=True, slots=True)
class SubmissionResource:
    """The owner's data of an upload."""

    team_id: TeamId


@dataclass(frozen=True, slots=True)
class TeamPrivateResource:
    """Data and acts for one team alone: bundles, uploads, what to do with its agents."""

    team_id: TeamId


@dataclass(frozen=True, slots=True)
class ScrimPrivacy:
    """Who sees what of a scrim. Fixed when it is asked for."""

    __pydantic_config__ = RECORD
    results: ScrimAudience = ScrimAudience.ASKER
    replays: ScrimAudience = ScrimAudience.ASKER
    logs: LogAudience = LogAudience.OWN
    is_members_only: bool = False
    """Whether `league` means its members: it was not public when this was asked."""


PRIVATE: Final = ScrimPrivacy()


@dataclass(frozen=True, slots=True)
class ScrimResource:
    """A scrim, its results and its matches."""

    team_id: TeamId
    """The team that asked for the scrim."""
    side_team_ids: frozenset[TeamId]
    """All teams with an agent in it."""
    league: LeagueResource
    privacy: ScrimPrivacy
    continues: ReplayResource | None = None
    """The replay that a fork continues."""


@dataclass(frozen=True, slots=True)
class ScrimRequestResource:
    """A request of one team to another for a scrim."""

    team_id: TeamId
    asked_team_id: TeamId


@dataclass(frozen=True, slots=True)
class LogResource:
    """Log, reason, failed step and traceback of a team's seat or entry."""

    team_id: TeamId
    league_id: LeagueId | None
    """League of the match; None for a scrim, whose logs no grader reads."""
    scrim: ScrimResource | None = None
    """The scrim of the match."""


HIDDEN_SECONDS: Final = 60
"""For so long after its claim nobody sees who plays in a rated match with a remote agent. Then the
agent has been asked whether it answers."""


@dataclass(frozen=True, slots=True)
class MatchResource:
    """A match: entries, state, placements, verdicts, charged times."""

    kind: MatchKind
    league: LeagueResource
    team_ids: frozenset[TeamId]
    scrim: ScrimResource | None = None
    """None for a match that is in no scrim."""
    embargo: Embargo = Embargo.PUBLIC
    """Of a match of a tournament."""
    entrant_team_ids: frozenset[TeamId] = frozenset()
    """Teams of all entrants of its tournament, if it has an embargo: later games tell results."""
    is_lineup_hidden: bool = False
    """Whether nobody may know who plays: it waits to be played, or has just begun with a remote
    agent."""
    away_team_ids: frozenset[TeamId] = frozenset()
    """Teams with a remote agent in it while it is played: they could choose not to answer."""


@dataclass(frozen=True, slots=True)
class ReplayResource:
    """The moves of a match in every form: page, stream, blob, export."""

    match: MatchResource
    is_finished: bool
    is_season_finished: bool


@dataclass(frozen=True, slots=True)
class LiveResource:
    """The moves of a match while it is played: streams, and answers to those who ask again."""

    match: MatchResource
    is_season_finished: bool
    is_withheld: bool
    """Whether a remote agent plays a game in which an agent does not see everything. Its owner
    could watch what the agent must not know. So nobody watches."""


@dataclass(frozen=True, slots=True)
class PersonResource:
    """Data of one person alone: notices, channels, private feeds."""

    user_id: UserId


Resource = (
    LeagueResource
    | TeamResource
    | TeamPeopleResource
    | EntryResource
    | SubmissionResource
    | TeamPrivateResource
    | LogResource
    | ScrimResource
    | ScrimRequestResource
    | MatchResource
    | ReplayResource
    | LiveResource
    | PersonResource
)
