"""Writes a suspect favourite into the newest official standing of a season."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.ids import SeasonId
from ladder.ratings.official.season_suspects import FavouredEntry, SeasonSuspects, ThrowingEntry


def write_favourite(conn: Connection, season_id: SeasonId) -> None:
    """Writes one favourite, and one entry that seems to lose to it on purpose."""
    rows = conn.execute(
        "select id from entries where season_id = %s and not is_anchor and state = 'active'"
        " and games > 0 order by id limit 2",
        (season_id,),
    ).fetchall()
    (favourite,), (thrower,) = rows
    suspect = ThrowingEntry(thrower, 3, 3, 0.6, 0.002, 2, 0.1)
    found = SeasonSuspects(favourites=(FavouredEntry(favourite, 0.001, (suspect,)),))
    conn.execute("set session_replication_role = replica")  # a version never changes otherwise
    conn.execute(
        "update standings set suspects = %s where season_id = %s and version = (select"
        " official_version from seasons where id = %s)",
        (found.to_json(), season_id, season_id),
    )
    conn.execute("set session_replication_role = default")
