"""Counts a team's uploads of a day in a season, up to the season's limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from ladder.database.db import Connection
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
    day = _today(conn)
    row = conn.execute(
        "select s.daily_limit, coalesce(u.used, 0),"
        " greatest(x.closes_at, least(s.closes_at, s.ends_at)) from seasons s"
        " left join daily_uploads u on u.season_id = s.id and u.team_id = %s and u.day = %s"
        " left join extensions x on x.season_id = s.id and x.team_id = %s where s.id = %s",
        (team_id, day, team_id, season_id),
    ).fetchone()
    if row is None:
        raise NotFound.of("season")
    resets_at = datetime.combine(day + timedelta(days=1), time(), UTC)
    allowed, used, closes_at = row
    return UploadLimits(used, allowed, max(0, allowed - used), resets_at, closes_at)


def count_upload(conn: Connection, season: Season, team_id: TeamId) -> date:
    """Counts one upload and returns its day. Raises DailyLimitReached.

    The row stays locked until the caller's transaction ends.
    """
    day = _today(conn)
    row = None
    if season.daily_limit > 0:
        row = conn.execute(
            "insert into daily_uploads as u (season_id, team_id, day, used) values (%s, %s, %s, 1)"
            " on conflict (season_id, team_id, day) do update set used = u.used + 1"
            " where u.used < %s returning used",
            (season.id, team_id, day, season.daily_limit),
        ).fetchone()
    if row is None:
        raise DailyLimitReached(upload_limits(conn, season.id, team_id))
    return day


def uncount_upload(conn: Connection, season_id: SeasonId, team_id: TeamId, day: date) -> None:
    """Takes back one counted upload of this day."""
    conn.execute(
        "update daily_uploads set used = used - 1 where season_id = %s and team_id = %s"
        " and day = %s and used > 0",
        (season_id, team_id, day),
    )


def _today(conn: Connection) -> date:
    """Returns the UTC day by the database's clock, which all processes share."""
    row = conn.execute("select (now() at time zone 'utc')::date").fetchone()
    assert row is not None
    today: date = row[0]
    return today
