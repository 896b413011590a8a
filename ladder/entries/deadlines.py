"""Checks upload deadlines and daily limits, and whether entries of a locked season have to play.

An upload is in time if its request began before the deadline. Then it may take
``LONGEST_UPLOAD_SECONDS``. No medal is sealed before the last such upload has been validated and
played.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from time import monotonic
from typing import Final

from ladder.database.db import Connection, exists, fetch, fetch_one, fetch_optional
from ladder.errors import Conflict, LimitReached, NotFound
from ladder.field_types import RECORD
from ladder.ids import SeasonId, TeamId
from ladder.leagues import medals
from ladder.leagues.records import Season
from ladder.matches import worker_availability
from ladder.moments import moment_text

MAY_STILL_ENTER: Final = 0x656E7472  # "entr": class of the advisory locks, one per season
LONGEST_UPLOAD_SECONDS: Final = 660.0
"""Longest time from the first byte of an upload to its entry."""


def refuse_late_upload(
    conn: Connection, season: Season, team_id: TeamId, began: float | None
) -> None:
    """Raises Conflict if this team's upload is too late.

    ``began`` is the moment of ``time.monotonic`` at which the request arrived; None: now. The
    moment in the database's clock is computed as early as it can have been.

    If the deadline locked the season, an upload that began earlier is accepted. If a host locked
    the season, only teams with an extension may upload. After a medal is sealed, no upload is
    accepted. No medal is sealed before the caller's transaction ends.
    """
    conn.execute(
        "select pg_advisory_xact_lock_shared(%s, hashtext(%s))", (MAY_STILL_ENTER, season.id)
    )
    now = fetch_one(conn, datetime, "select clock_timestamp()")
    waited_seconds = 0.0 if began is None else monotonic() - began
    league_state, is_early, is_in_time = fetch_one(
        conn,
        lambda *columns: columns,
        """
        select l.state, s.opens_at > now(),
               s.state <> 'finished' and coalesce(s.ends_at > a.arrived_at, true) and (
                 (s.state = 'open' or coalesce(s.closes_at <= clock_timestamp(), false))
                   and coalesce(s.closes_at > a.arrived_at, true)
                 or coalesce(x.closes_at > a.arrived_at, false)
               )
        from seasons s join leagues l on l.id = s.league_id
        cross join (
          select %(now)s::timestamptz - make_interval(secs => %(waited)s) as arrived_at
        ) a
        left join extensions x on x.season_id = s.id and x.team_id = %(team)s
        where s.id = %(season)s
        """,
        {
            "now": now,
            "waited": min(waited_seconds, LONGEST_UPLOAD_SECONDS),
            "season": season.id,
            "team": team_id,
        },
    )
    if league_state == "closed":
        raise Conflict("the league is closed")
    if is_early:
        raise Conflict(f"wait until the season opens at {moment_text(season.opens_at)}")
    if not is_in_time or medals.sealed_medals_of_season(conn, season.id):
        raise Conflict("uploads to this season are locked")


def is_waiting_for_entries(conn: Connection, season_id: SeasonId) -> bool:
    """Whether a locked season may still gain entries, or has entries that must still play.

    True in any of these cases: an upload is running or may still begin, an entry waits for
    validation, or an entry can play and has not. If false, no entry is added before the caller's
    transaction ends.
    """
    is_alone = fetch_one(
        conn,
        bool,
        "select pg_try_advisory_xact_lock(%(key)s, hashtext(%(season)s))",
        {"key": MAY_STILL_ENTER, "season": season_id},
    )
    return (
        not is_alone
        or exists(
            conn,
            """
            select 1 from seasons s
            left join extensions x on x.season_id = s.id
            where s.id = %(season)s and (
              s.closes_at <= now() and s.closes_at > now() - make_interval(secs => %(arrival)s)
              or x.closes_at > now() - make_interval(secs => %(arrival)s)
            )
            """,
            {"season": season_id, "arrival": LONGEST_UPLOAD_SECONDS},
        )
        or _has_unplayed_entries(conn, season_id)
    )


def _has_unplayed_entries(conn: Connection, season_id: SeasonId) -> bool:
    """Whether an entry uploaded in time still waits for validation, or for its first match.

    An entry paused before its first match does not count: its owner could delay all others by
    resuming it.
    """
    profiles = fetch(
        conn,
        str,
        """
        select distinct profile from entries e
        where season_id = %(season)s and not is_anchor and (
          state = 'pending'
          or state = 'active' and games = 0 and pairing_weight > 0
            and not exists (select 1 from pauses p where p.entry_id = e.id)
        )
        """,
        {"season": season_id},
    )
    return bool({*profiles} - worker_availability.long_unserved_profiles(conn, {*profiles}))


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
