"""Tells hosts of alarms of their seasons."""

from __future__ import annotations

from typing import Final

from ladder.database.db import Connection
from ladder.notices.kinds import EventSubject, NoticeKind, record_event
from ladder.reports.season_health import AlarmCause, SeasonAlarm

TOLD: Final = (
    AlarmCause.NO_CAPACITY,
    AlarmCause.SLOW_HOST,
    AlarmCause.AGENTS_AWAY,
    AlarmCause.ERROR,
)
"""Causes that are news. Hosts pause a league themselves, and a new league has few agents."""
QUIET_HOURS: Final = 6
"""The same alarm of a season is told again after this time."""


def record_alarm(conn: Connection, alarm: SeasonAlarm) -> bool:
    """Tells of an alarm unless it was told lately; returns whether it did."""
    if alarm.cause not in TOLD:
        return False
    known = conn.execute(
        """
        select 1 from notice_events where season_id = %s and kind = %s
        and details ->> 'cause' = %s and created_at > now() - make_interval(hours => %s)
        """,
        (alarm.season_id, NoticeKind.SEASON_ALARM.value, alarm.cause.value, QUIET_HOURS),
    ).fetchone()
    if known is not None:
        return False
    about = EventSubject(season_id=alarm.season_id, details={"cause": alarm.cause.value})
    record_event(conn, NoticeKind.SEASON_ALARM, about)
    return True
