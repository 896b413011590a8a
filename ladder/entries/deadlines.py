"""Checks upload deadlines, and whether entries of a locked season still have to play.

An upload is in time if its request began before the deadline. Then it may take
``LONGEST_UPLOAD_SECONDS``. No medal is sealed before the last such upload has been validated and
played.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Final

from ladder.database.db import Connection, exists, fetch, fetch_one
from ladder.errors import Conflict
from ladder.ids import SeasonId, TeamId
from ladder.leagues import sealed_medals
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
    waited_seconds = 0.0 if began is None else time.monotonic() - began
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
    if not is_in_time or sealed_medals.sealed_medals_of_season(conn, season.id):
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
