"""Counts a team's uploads of a day in a season, up to the season's limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from ladder.database.db import Connection, fetch_one, fetch_optional
from ladder.errors import LimitReached, NotFound
from ladder.field_types import RECORD
from ladder.ids import SeasonId, TeamId
from ladder.leagues.records import Season


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """How many more uploads a team may make today."""

    __pydantic_config__ = RECORD
    used: int
    allowed: int
    left: int
    resets_at: datetime
    closes_at: datetime | None
    """Upload lock of this team, including an extension. Null: no date."""


class DailyLimitReached(LimitReached):
    """The team's uploads of this day are used up."""

    def __init__(self, limits: UploadLimits) -> None:
        super().__init__("uploads a day", limits.used, limits.allowed, limits.resets_at)
        self.limits = limits


def upload_limits(conn: Connection, season_id: SeasonId, team_id: TeamId) -> UploadLimits:
    """Returns the team's limit and uploads in this season today (UTC)."""
    allowed, used, closes_at, day = fetch_one(
        conn,
        lambda *columns: columns,
        """
        select s.daily_limit, coalesce(u.used, 0),
               greatest(x.closes_at, least(s.closes_at, s.ends_at)), today.day
        from seasons s cross join (select (now() at time zone 'utc')::date as day) today
        left join daily_uploads u
          on u.season_id = s.id and u.team_id = %(team)s and u.day = today.day
        left join extensions x on x.season_id = s.id and x.team_id = %(team)s
        where s.id = %(season)s
        """,
        {"season": season_id, "team": team_id},
        missing=NotFound.of("season"),
    )
    resets_at = datetime.combine(day + timedelta(days=1), time(), UTC)
    return UploadLimits(used, allowed, max(0, allowed - used), resets_at, closes_at)


def count_upload(conn: Connection, season: Season, team_id: TeamId) -> date:
    """Counts one upload and returns its day (UTC). Raises DailyLimitReached.

    The row stays locked until the caller's transaction ends.
    """
    day = fetch_optional(
        conn,
        date,
        """
        insert into daily_uploads as u (season_id, team_id, day, used)
        select %(season)s, %(team)s, (now() at time zone 'utc')::date, 1 where %(limit)s > 0
        on conflict (season_id, team_id, day) do update set used = u.used + 1
        where u.used < %(limit)s
        returning day
        """,
        {"season": season.id, "team": team_id, "limit": season.daily_limit},
    )
    if day is None:
        raise DailyLimitReached(upload_limits(conn, season.id, team_id))
    return day


def uncount_upload(conn: Connection, season_id: SeasonId, team_id: TeamId, day: date) -> None:
    """Takes back one counted upload of this day."""
    conn.execute(
        """
        update daily_uploads set used = used - 1
        where season_id = %(season)s and team_id = %(team)s and day = %(day)s and used > 0
        """,
        {"season": season_id, "team": team_id, "day": day},
    )
