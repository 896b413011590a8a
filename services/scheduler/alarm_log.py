"""Logs the alarms of seasons and notifies their hosts."""

from __future__ import annotations

from ladder.database import db
from ladder.ids import SeasonId
from ladder.reports import alarm_notices, season_health
from ladder.telemetry import log_event


class AlarmLog:
    """Logs each alarm of a season once and notifies the people who host the league.

    An alarm means that no match finished in time, or that a machine is too slow.
    """

    def __init__(self) -> None:
        self._told: dict[SeasonId, str] = {}

    def log_alarm_changes(self, conn: db.Connection) -> dict[str, int]:
        """Logs each new, changed or ended alarm, and notifies the hosts of new and changed ones.

        Returns no counts.
        """
        alarms = {alarm.season_id: alarm for alarm in season_health.season_alarms(conn)}
        for season, alarm in alarms.items():
            if self._told.get(season) != alarm.reason:
                slow = alarm.cause is season_health.AlarmCause.SLOW_HOST
                log_event(
                    "host_too_slow" if slow else "season_silent",
                    level="warning",
                    season=season,
                    league=alarm.league,
                    reason=alarm.reason,
                    silent_seconds=round(alarm.silent_seconds),
                    expected_seconds=alarm.expected_seconds,
                )
                self._told[season] = alarm.reason
                with conn.transaction():
                    alarm_notices.record_alarm(conn, alarm)
        for season in set(self._told) - set(alarms):
            log_event("season_alarm_cleared", season=season)
            del self._told[season]
        return {}
