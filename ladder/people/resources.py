"""The resources that people ask for; ``permissions`` decides who may see each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ladder.enums import LogAudience, ScrimAudience, Visibility
from ladder.field_types import RECORD
from ladder.ids import LeagueId, TeamId, UserId


@dataclass(frozen=True, slots=True)
class LeagueResource:
    """A league, its seasons, its board."""

    league_id: LeagueId
    visibility: Visibility


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
class ScrimRequestResource:
    """A request of one team to another for a scrim."""

    team_id: TeamId
    asked_team_id: TeamId


@dataclass(frozen=True, slots=True)
class LogResource:
    """Log, reason, failed step and traceback of a team's entry."""

    team_id: TeamId
    league_id: LeagueId


HIDDEN_SECONDS: Final = 60
"""For so long after its claim nobody sees who plays in a rated match with a remote agent. Then the
agent has been asked whether it answers."""


@dataclass(frozen=True, slots=True)
class PersonResource:
    """Data of one person alone: notices, channels, private feeds."""

    user_id: UserId


Resource = (
    LeagueResource
    | SubmissionResource
    | TeamPrivateResource
    | LogResource
    | ScrimRequestResource
    | PersonResource
)
