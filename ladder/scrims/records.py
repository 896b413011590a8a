"""Records of scrims."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ladder.ids import LeagueId, ScrimId, SeasonId, SubmissionId, TeamId, UserId
from ladder.people.permissions import ReplayResource, ScrimResource


@dataclass(frozen=True, slots=True)
class Scrim:
    id: ScrimId
    season_id: SeasonId
    league_id: LeagueId
    team_id: TeamId
    requested_by: UserId
    lineup: tuple[SubmissionId, ...]
    games: int
    state: str
    finished_games: int
    void_games: int
    created_at: datetime
    finished_at: datetime | None


def scrim_resource(scrim: Scrim, continues: ReplayResource | None = None) -> ScrimResource:
    """Returns the permission resource of a scrim. ``continues`` is the replay behind a fork."""
    return ScrimResource(scrim.team_id, continues)
