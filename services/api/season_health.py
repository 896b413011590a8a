"""Health of a season: whether matches finish as often as expected, and if not, why."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field

from ladder.leagues import leagues, records
from ladder.leagues.records import League
from ladder.people.permissions import may_manage
from ladder.people.records import Viewer
from ladder.reports import season_health
from ladder.reports.season_health import AlarmCause
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import SeasonKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["seasons"], route_class=LazyRoute)


class SeasonAlarmOut(BaseModel):
    """No match finished for three times the expected time, or a host is too slow."""

    cause: AlarmCause
    reason: str = Field(examples=[season_health.CAUSE_SENTENCES[AlarmCause.NO_CAPACITY]])
    detail: str | None = Field(
        default=None,
        description="what to do; shown to hosts and administrators alone",
        examples=["no worker that serves play.cpu has been heard of for 15 s"],
    )


class SeasonHealthOut(BaseModel):
    season_id: str
    last_match_at: datetime | None = Field(description="when the last rated match finished")
    silent_seconds: float = Field(description="seconds since then, or since the season opened")
    expected_seconds: float = Field(
        description="expected longest time between two finished matches"
    )
    alarm: SeasonAlarmOut | None
    lacking: str | None = Field(
        description="why its entries fill no match; for hosts also what to add",
        examples=["3 of 4 seats can be filled: add an agent or an anchor"],
    )


def season_health_out(
    who: Viewer, league: League, pulse: season_health.SeasonHealth
) -> SeasonHealthOut:
    """The health data that the viewer may see. The caller checks that the viewer may see the
    league."""
    alarm, lacking = None, pulse.lacking
    runs = may_manage(who, records.league_resource(league))
    if lacking is not None and not runs:  # it counts entries that wait for validation
        lacking = AlarmCause.NOTHING_TO_PAIR.sentence
    if pulse.alarm is not None:
        cause = pulse.alarm.cause
        alarm = SeasonAlarmOut(
            cause=cause, reason=cause.sentence, detail=pulse.alarm.reason if runs else None
        )
    return SeasonHealthOut(
        season_id=pulse.season_id,
        last_match_at=pulse.last_match_at,
        silent_seconds=pulse.silent_seconds,
        expected_seconds=pulse.expected_seconds,
        alarm=alarm,
        lacking=lacking,
    )


@router.get(
    "/seasons/{season}/health",
    summary="Read a season's health",
    responses=problem_responses(404),
)
def read_season_health(season: SeasonKey, conn: Db, who: Anyone) -> SeasonHealthOut:
    """When the last match finished, how often one should, and the cause if none does."""
    found = permissions.visible_season(conn, who, season)
    league = leagues.get_league(conn, found.league_id)
    return season_health_out(who, league, season_health.read_health(conn, found, league))
