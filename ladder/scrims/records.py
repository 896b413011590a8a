"""Records of scrims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ladder.ids import (
    LeagueId,
    ScrimBatchId,
    ScrimId,
    ScrimRequestId,
    SeasonId,
    SubmissionId,
    TeamId,
    UserId,
)
from ladder.leagues.records import Season
from ladder.people.resources import (
    PRIVATE,
    LeagueResource,
    ReplayResource,
    ScrimPrivacy,
    ScrimResource,
)


@dataclass(frozen=True, slots=True)
class Scrim:
    id: ScrimId
    season_id: SeasonId
    league_id: LeagueId
    team_id: TeamId
    """The team that asked for it."""
    side_team_ids: tuple[TeamId, ...]
    """All teams with an agent in it."""
    requested_by: UserId
    lineup: tuple[SubmissionId, ...]
    games: int
    state: str
    finished_games: int
    void_games: int
    created_at: datetime
    finished_at: datetime | None
    privacy: ScrimPrivacy
    league: LeagueResource
    batch_id: ScrimBatchId | None
    request_id: ScrimRequestId | None
    """The request that the other side accepted. None: none was needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrimOrder:
    """A scrim to create."""

    season: Season
    team_id: TeamId
    """The team that asks for it; its daily limit counts."""
    user_id: UserId
    lineup: Sequence[SubmissionId]
    games: int
    seeds: Sequence[bytes | None] | None = None
    """16 bytes a game, or None for a random one. None: all random."""
    rotates: bool = True
    """Whether the lineup rotates by one seat each game."""
    privacy: ScrimPrivacy = PRIVATE
    agreed_team_ids: frozenset[TeamId] = frozenset()
    """Teams that accepted this scrim: the policies of their agents do not count."""
    batch_id: ScrimBatchId | None = None


def scrim_resource(scrim: Scrim, continues: ReplayResource | None = None) -> ScrimResource:
    """Returns the permission resource of a scrim. ``continues`` is the replay behind a fork."""
    sides = frozenset(scrim.side_team_ids)
    return ScrimResource(scrim.team_id, sides, scrim.league, scrim.privacy, continues)


def batch_resource(scrim: Scrim) -> ScrimResource:
    """Returns the permission resource of the batch of this scrim. A side of one scrim of a batch
    does not see the others.
    """
    return ScrimResource(scrim.team_id, frozenset(), scrim.league, scrim.privacy)
