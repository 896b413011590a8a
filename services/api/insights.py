"""Insights: statistics of an entry's games, and what it may expect."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from ladder.entries.records import Entry
from ladder.leagues import seasons
from ladder.leagues.measures import Estimate
from ladder.leagues.records import Season
from ladder.people.records import Viewer
from ladder.reports import insights
from ladder.reports.entry_analysis import OpponentRecord, Upset
from services.api.leaderboard import OfficialPlaceOut
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import EntryKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["entries"], route_class=LazyRoute)


class RivalOut(BaseModel):
    """An opponent agent."""

    agent_id: str
    agent_name: str
    team_name: str


class MetOut(RivalOut):
    """All games against one opponent, counted by placement."""

    games: int
    better: int
    tied: int
    worse: int
    reward_difference: float | None = Field(
        description="mean of own reward minus the opponent's reward"
    )


class ShareOut(BaseModel):
    """Duels without a fault on either side. A tie counts half."""

    model_config = ConfigDict(from_attributes=True)
    duels: int
    with_fault: int = Field(description="further duels, left out because either agent had a fault")
    expected: float | None = Field(description="expected share of wins, by the present scores")
    actual: float | None = Field(description="share of wins")


class StrengthsOut(BaseModel):
    """Duels by the opponent's present score. Near means within half a beta."""

    stronger: ShareOut
    near: ShareOut
    weaker: ShareOut


class SeatShareOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    seat: int
    games: int
    mean_placement: float
    share: ShareOut


class UpsetOut(RivalOut):
    """A duel whose winner has the lower score now."""

    match_id: str
    at: datetime
    expected: float = Field(description="probability of this outcome, by the present scores")


class TimesOut(BaseModel):
    """Charged times."""

    match_median_seconds: float
    match_p99_seconds: float
    slowest_move_median_seconds: float = Field(
        description="median over matches of their slowest move"
    )
    slowest_move_p99_seconds: float
    slowest_move_max_seconds: float
    act_seconds: float = Field(description="free seconds for each move, by the season's clock")


class PaceOut(BaseModel):
    """How fast the league plays, by its last hour, or since its first result."""

    model_config = ConfigDict(from_attributes=True)
    matches_an_hour: float
    measured_seconds: float = Field(description="time over which the pace was measured")
    games_an_hour: float | None = Field(description="mean of the active entries")


class InsightsOut(BaseModel):
    entry_id: str
    games: int = Field(description="number of newest rated games that these numbers use")
    official: OfficialPlaceOut | None
    estimates: list[Estimate] = Field(
        description="each measure over all games, if a match has one seat; then opponents and "
        "games_left are empty"
    )
    opponents: list[MetOut] = Field(description="the opponents met most often")
    opponents_met: int
    strengths: StrengthsOut
    seats: list[SeatShareOut]
    upsets_won: list[UpsetOut]
    upsets_lost: list[UpsetOut]
    verdicts: dict[str, int]
    times: TimesOut | None = Field(default=None, description="shown only to its team")
    within: float
    games_left: int | None = Field(
        description="games until the score is known to +-within points at 95 %; null: games alone "
        "never suffice, because results of pairs here do not follow one score each"
    )
    hours_left: float | None = Field(
        description="games_left in hours, at the pace of the last hour"
    )
    pace: PaceOut
    first_match_seconds: float | None = Field(
        description="expected seconds until its first rated match ends"
    )


def insights_out(conn: Db, who: Viewer, entry: Entry, season: Season, within: float) -> InsightsOut:
    """The insights that the viewer may see. The caller checks that the viewer may see entry and
    league."""
    found = insights.read_insights_for(conn, who, entry, season, within)

    def named(row: OpponentRecord | Upset) -> dict[str, Any]:
        return {**asdict(row), **asdict(found.names[row.agent_id])}

    times = None
    if found.times is not None:
        times = TimesOut(**asdict(found.times), act_seconds=season.clock["act_seconds"])
    return InsightsOut(
        entry_id=entry.id,
        games=found.games,
        official=None
        if found.official is None
        else OfficialPlaceOut.model_validate(found.official),
        estimates=[*found.estimates],
        opponents=[MetOut(**named(row)) for row in found.opponents],
        opponents_met=found.opponents_met,
        strengths=StrengthsOut(
            **{kind.value: ShareOut.model_validate(row) for kind, row in found.strengths.items()}
        ),
        seats=[SeatShareOut.model_validate(row) for row in found.seats],
        upsets_won=[UpsetOut(**named(row)) for row in found.upsets_won],
        upsets_lost=[UpsetOut(**named(row)) for row in found.upsets_lost],
        verdicts=found.verdicts,
        times=times,
        within=found.within,
        games_left=found.games_left,
        hours_left=found.hours_left,
        pace=PaceOut.model_validate(found.pace),
        first_match_seconds=found.first_match_seconds,
    )


@router.get(
    "/entries/{entry}/insights",
    summary="Read an entry's insights",
    responses=problem_responses(404),
)
def read_insights(
    entry: EntryKey,
    conn: Db,
    who: Anyone,
    within: Annotated[
        float, Query(ge=1, le=1000, description="wanted precision of the score, in points")
    ] = insights.WITHIN,
) -> InsightsOut:
    """Opponents, strengths, seats, upsets and prospects, from the last rated games."""
    found = permissions.visible_entry(conn, who, entry)
    permissions.visible_league(conn, who, found.league_id)
    return insights_out(conn, who, found, seasons.get_season(conn, found.season_id), within)
