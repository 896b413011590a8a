"""Whether a season goes on as it should, and if not why."""

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
from services.http.path_parameters import SeasonKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["seasons"])


class SeasonAlarmOut(BaseModel):
    """No match has finished for three times as long as expected, or a host is too slow for it."""

    cause: AlarmCause
    reason: str = Field(examples=[season_health.CAUSE_SENTENCES[AlarmCause.NO_CAPACITY]])
    detail: str | None = Field(
        default=None,
        description="what its host or the operator can do about it; their eyes only",
        examples=["no worker that serves play.cpu has been heard of for 15 s"],
    )


class SeasonHealthOut(BaseModel):
    season_id: str
    last_match_at: datetime | None = Field(description="when the last rated match finished")
    silent_seconds: float = Field(description="since then, or since the season opened")
    expected_seconds: float = Field(description="a match should finish at least this often")
    alarm: SeasonAlarmOut | None
    lacking: str | None = Field(
        description="why its entries fill no match; hosts also read what to add",
        examples=["3 of 4 seats can be filled: add an agent or an anchor"],
    )


def season_health_out(
    who: Viewer, league: League, pulse: season_health.SeasonHealth
) -> SeasonHealthOut:
    """What this viewer may know of it; the caller has checked that it may see the league."""
    alarm, lacking = None, pulse.lacking
    runs = may_manage(who, records.league_resource(league))
    if lacking is not None and not runs:  # it counts entries that wait for their validation
        lacking = AlarmCause.NOTHING_TO_PAIR.told
    if pulse.alarm is not None:
        cause = pulse.alarm.cause
        alarm = SeasonAlarmOut(
            cause=cause, reason=cause.told, detail=pulse.alarm.reason if runs else None
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
    summary="Read whether a season goes on",
    responses=problem_responses(404),
)
def read_season_health(season: SeasonKey, conn: Db, who: Anyone) -> SeasonHealthOut:
    """When its last match finished, how often one should, and what is wrong when none does."""
    found = permissions.visible_season(conn, who, season)
    league = leagues.get_league(conn, found.league_id)
    return season_health_out(who, league, season_health.read_health(conn, found, league))
