"""What may come to a season's field, and until when: deadlines of uploads, and what waits for them.

An upload is in time when its request began before the deadline, and then has
``LONGEST_UPLOAD_SECONDS`` to be there. No medal is sealed before the last one can have come, been
validated and played.
"""

from __future__ import annotations

from typing import Final

from ladder.database.db import Connection
from ladder.errors import Conflict
from ladder.ids import SeasonId, TeamId
from ladder.leagues import sealed_medals
from ladder.leagues.records import Season
from ladder.matches import capacity

MAY_STILL_ENTER: Final = 0x656E7472  # "entr": class of the advisory locks, one per season
LONGEST_UPLOAD_SECONDS: Final = 660.0
"""Between the first byte of an upload and its entry; one that takes longer began later."""


def refuse_late_upload(
    conn: Connection, season: Season, team_id: TeamId, waited_seconds: float
) -> None:
    """Raises Conflict where this team may not enter the season with what began to arrive so long
    ago. Until the caller's transaction ends no medal is sealed.

    A season that its date has locked takes what began to arrive before; one locked by a host takes
    nothing but from a team with an extension; and none takes anything once a medal is sealed.
    """
    conn.execute(
        "select pg_advisory_xact_lock_shared(%s, hashtext(%s))", (MAY_STILL_ENTER, season.id)
    )
    row = conn.execute(
        "with s as (select *, clock_timestamp() - make_interval(secs => %s) as arrived_at"
        "   from seasons where id = %s)"
        " select l.state, s.opens_at > now(),"
        " s.state <> 'finished' and coalesce(s.ends_at > s.arrived_at, true) and ("
        "   (s.state = 'open' or coalesce(s.closes_at <= clock_timestamp(), false))"
        "     and coalesce(s.closes_at > s.arrived_at, true)"
        "   or coalesce(x.closes_at > s.arrived_at, false))"
        " from s join leagues l on l.id = s.league_id"
        " left join extensions x on x.season_id = s.id and x.team_id = %s",
        (min(waited_seconds, LONGEST_UPLOAD_SECONDS), season.id, team_id),
    ).fetchone()
    assert row is not None
    league_state, is_early, is_in_time = row
    if league_state == "closed":
        raise Conflict("the league is closed")
    if is_early:
        raise Conflict(f"the season opens at {season.opens_at.isoformat()}")
    if not is_in_time or sealed_medals.sealed_medals_of_season(conn, season.id):
        raise Conflict("uploads to this season are locked")


def is_waiting_for_entries(conn: Connection, season_id: SeasonId) -> bool:
    """Whether the field of a locked season may still grow, or has not all played: somebody enters
    at this moment, may upload, began to in time, is not validated yet, or has no game and can.

    Where not, nobody enters until the caller's transaction ends.
    """
    alone = conn.execute(
        "select pg_try_advisory_xact_lock(%s, hashtext(%s))", (MAY_STILL_ENTER, season_id)
    ).fetchone()
    if alone is None or not alone[0]:
        return True
    row = conn.execute(
        "select s.closes_at <= now() and s.closes_at > now() - make_interval(secs => %(arrival)s)"
        " or exists (select 1 from extensions x where x.season_id = s.id"
        "   and x.closes_at > now() - make_interval(secs => %(arrival)s))"
        " from seasons s where s.id = %(season)s",
        {"season": season_id, "arrival": LONGEST_UPLOAD_SECONDS},
    ).fetchone()
    return (row is not None and bool(row[0])) or _has_unplayed_entries(conn, season_id)


def _has_unplayed_entries(conn: Connection, season_id: SeasonId) -> bool:
    """Whether somebody who uploaded in time is not validated yet, or has not played, and can. Who
    was paused before it played is not waited for: its owner could have all wait by resuming it."""
    rows = conn.execute(
        "select distinct profile from entries e where season_id = %s and not is_anchor"
        " and (state = 'pending' or state = 'active' and games = 0 and pairing_weight > 0"
        "   and not exists (select 1 from pauses p where p.entry_id = e.id))",
        (season_id,),
    )
    wanted = {row[0] for row in rows}
    return bool(wanted - capacity.long_unserved_profiles(conn, wanted))
