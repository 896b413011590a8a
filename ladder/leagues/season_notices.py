"""Tells members of a league that a season opens, takes no more uploads, or is finished."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ladder.database.db import Connection
from ladder.ids import SeasonId
from ladder.notices.events import EventSubject, record_event
from ladder.notices.kinds import NoticeKind

KINDS: Final[Mapping[str, NoticeKind]] = MappingProxyType(
    {"locked": NoticeKind.SEASON_LOCKED, "finished": NoticeKind.SEASON_FINISHED}
)


def record_season_state(conn: Connection, season_id: SeasonId, state: str) -> None:
    """Tells of a season's new state, in the transaction that changes it."""
    if state in KINDS:
        record_event(conn, KINDS[state], EventSubject(season_id=season_id))


def record_openings(conn: Connection) -> list[SeasonId]:
    """Tells once of each season that opened within the last hour; returns these seasons.

    The scheduler calls this. Older openings, of a time without a scheduler, are no news.
    """
    rows = conn.execute(
        "select s.id from seasons s where s.opens_at between now() - interval '1 hour' and now()"
        " and s.state = 'open' and not exists (select 1 from notice_events e"
        "   where e.season_id = s.id and e.kind = %s) order by s.id",
        (NoticeKind.SEASON_OPENED.value,),
    ).fetchall()
    opened = [SeasonId(row[0]) for row in rows]
    for season_id in opened:
        record_event(conn, NoticeKind.SEASON_OPENED, EventSubject(season_id=season_id))
    return opened
