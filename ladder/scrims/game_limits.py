"""Counts a team's scrim games of a day, and names the limit that is used up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ladder.database.db import Connection
from ladder.errors import LimitReached
from ladder.ids import TeamId
from ladder.leagues.records import Season
from ladder.scrims import agent_policies
from ladder.scrims.agent_policies import Opponent

OF_TEAM: Final = "your team's scrim games a day"


class ScrimLimitReached(LimitReached):
    """A day's scrim games are used up."""


@dataclass(frozen=True, slots=True)
class GamesToday:
    """How many scrim games a team requested today in a season, and how many it may."""

    used: int
    allowed: int
    resets_at: datetime

    @property
    def left(self) -> int:
        return max(0, self.allowed - self.used)


def games_today(conn: Connection, season: Season, team_id: TeamId) -> GamesToday:
    """Returns a team's scrim games of this UTC day. Void games do not count,
    unless the team called them off after they began."""
    row = conn.execute(
        f"select coalesce(sum({agent_policies.COUNTED_GAMES}), 0),"  # noqa: S608
        " date_trunc('day', now(), 'utc') + interval '1 day'"
        " from scrims c where team_id = %s and season_id = %s"
        " and created_at >= date_trunc('day', now(), 'utc')",
        (team_id, season.id),
    ).fetchone()
    assert row is not None
    return GamesToday(int(row[0]), season.scrim_games_daily, row[1])


def refuse_over_team_limit(conn: Connection, season: Season, team_id: TeamId, games: int) -> None:
    """Raises ScrimLimitReached above today's limit. Lock the team's row before games are added."""
    today = games_today(conn, season, team_id)
    if games > today.left:
        raise ScrimLimitReached(OF_TEAM, today.used, today.allowed, today.resets_at)


def agent_limit_reached(one: Opponent, left: int) -> ScrimLimitReached:
    """The error of an agent whose games of the day are used up."""
    facts, policy = one.facts, one.policy
    with_team = policy.games_per_team_daily - facts.games_with_team_today
    name, used, allowed = (
        f"your scrim games a day with {one.agent_name}",
        facts.games_with_team_today,
        policy.games_per_team_daily,
    )
    if left < with_team and policy.games_daily is not None:
        name = f"scrim games a day of {one.agent_name} with all teams"
        used, allowed = facts.games_today, policy.games_daily
    midnight = facts.at.replace(hour=0, minute=0, second=0, microsecond=0)
    return ScrimLimitReached(name, used, allowed, midnight + timedelta(days=1))
