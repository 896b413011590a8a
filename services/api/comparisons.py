"""Comparisons: is a new version better? Only the team that asks sees them."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.database.db import Connection
from ladder.ids import ComparisonId
from ladder.scrims.comparison import comparisons, daily_pairs, stored_pairs
from ladder.scrims.comparison.comparisons import Comparison
from ladder.scrims.comparison.request_model import NewComparison
from services.http import comparison_requests, permissions
from services.http.app_state import AppState, Db, State
from services.http.auth import Known, Scrimmer
from services.http.comparison_replays import analyse_replays
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import ComparisonKey, Filter, LeagueKey
from services.http.problems import ProblemError, problem_responses

router = APIRouter(prefix="/v1", tags=["comparisons"], route_class=LazyRoute)


class ComparisonOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["cmp_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str
    league_id: str
    team_id: str
    requested_by: str
    old_submission_id: str
    new_submission_id: str
    opponent_submission_ids: list[str]
    margin: float
    most_pairs: int
    variants: int
    state: str = Field(examples=["running"], description="running, finished or cancelled")
    verdict: str | None = Field(
        examples=["better"], description="better, not_better or cannot_tell; null: none yet"
    )
    ended_by: str | None = Field(
        description="bounds, pairs, deadline, host_faults or opponent_gone; null without a verdict"
    )
    waits_until: datetime | None = Field(
        description="no games are asked for until then: a limit is used up, or an opponent refuses"
    )
    replayed_pairs: int = Field(description="pairs that were played again because a machine failed")
    created_at: datetime
    deadline_at: datetime = Field(description="without a verdict then, it cannot tell")
    finished_at: datetime | None


class SideOut(BaseModel):
    """How one version did."""

    model_config = ConfigDict(from_attributes=True)
    score: float = Field(description="mean share of the opponents beaten")
    faults: int
    mean_move_seconds: float | None = Field(
        description="charged time of a move in the pairs of the analysis; null while it runs"
    )
    longest_move_seconds: float


class GainOut(BaseModel):
    """Both versions in one seat, or against one opponent. The interval is 95 % and decides
    nothing. Fewer than ten pairs, or pairs that are all equal, have none."""

    model_config = ConfigDict(from_attributes=True)
    name: str
    games: int
    old: float
    new: float
    low: float | None
    high: float | None


class FirstDifferenceOut(BaseModel):
    """The first different move of a pair."""

    model_config = ConfigDict(from_attributes=True)
    pair: int
    difference: float
    seat: int = Field(description="from 0")
    episode: int
    step: int
    old_match_id: str
    new_match_id: str


class BoundsOut(BaseModel):
    """The bounds after some pairs."""

    model_config = ConfigDict(from_attributes=True)
    pairs: int
    difference: float
    low: float
    high: float


class PairsTodayOut(BaseModel):
    """What the limits of a UTC day still allow."""

    model_config = ConfigDict(from_attributes=True)
    pairs: int = Field(description="further pairs; a mean if not all opponents sit in each game")
    limit: str = Field(
        examples=["your team's scrim games a day"],
        description="name of the limit that is reached first",
    )
    used: int = Field(description="games already counted by this limit")
    allowed: int
    resets_at: datetime
    sentence: str = Field(description="the values of the other fields as sentences")


class ComparisonDetail(ComparisonOut):
    today: PairsTodayOut | None = Field(
        description="further pairs that today allows; null after the end"
    )
    unfinished_pairs: int = Field(description="pairs whose games wait for a machine or are played")
    statistic: str
    pairs: int = Field(description="pairs that count so far")
    difference: float | None = Field(
        description="mean difference of the share of opponents beaten, new less old, -1 to 1"
    )
    low: float
    high: float
    old: SideOut | None
    new: SideOut | None
    seats: list[GainOut]
    opponents: list[GainOut]
    log_likelihood_ratio: float | None = Field(
        description="normalised Elo of 2 against 0, for two seats; it decides nothing"
    )
    course: list[BoundsOut] = Field(description="bounds after some of the pairs, in order")
    first_differences: list[FirstDifferenceOut] = Field(description="empty while it runs")


@router.post(
    "/leagues/{league}/comparisons/plan",
    summary="See how many pairs today allows",
    responses=problem_responses(403, 404, 409),
)
def plan_comparison(
    league: LeagueKey, body: NewComparison, conn: Db, who: Scrimmer
) -> PairsTodayOut:
    """Changes nothing. A comparison that needs more pairs goes on when the limit resets."""
    return PairsTodayOut.model_validate(
        comparison_requests.plan_comparison(conn, who, league, body)
    )


@router.post(
    "/leagues/{league}/comparisons",
    status_code=201,
    summary="Compare two versions",
    response_model=ComparisonOut,
    responses=problem_responses(403, 404, 409, 429),
)
def create_comparison(
    league: LeagueKey, body: NewComparison, conn: Db, who: Scrimmer, once: Idempotent
) -> Response:
    """Both versions play the same seeds, seats and opponents, until the verdict."""
    return once.run(
        lambda: ComparisonOut.model_validate(
            comparison_requests.start_comparison(conn, who, league, body)
        )
    )


@router.get(
    "/leagues/{league}/comparisons",
    summary="List comparisons",
    responses=problem_responses(403, 404),
)
def list_comparisons(
    league: LeagueKey, conn: Db, who: Known, span: Paging, team: Filter = None
) -> Page[ComparisonOut]:
    """Lists the comparisons of your teams in this league, newest first."""
    found = permissions.visible_league(conn, who, league)
    team_ids = [permissions.team_to_act_for(conn, who, team).id] if team else sorted(who.team_ids)
    rows = comparisons.list_comparisons(
        conn, team_ids, found.id, ComparisonId(span.after) if span.after else None, span.limit
    )
    return span.page(rows, lambda row: row.id, ComparisonOut.model_validate)


@router.get(
    "/comparisons/{comparison}", summary="Read a comparison", responses=problem_responses(404)
)
def read_comparison(
    comparison: ComparisonKey, conn: Db, app_state: AppState, who: Known
) -> ComparisonDetail:
    """The state so far. It may be read after every pair without harm to the verdict."""
    return comparison_detail(app_state, conn, permissions.visible_comparison(conn, who, comparison))


@router.post(
    "/comparisons/{comparison}/cancel",
    summary="Cancel a comparison",
    responses=problem_responses(403, 404, 409),
)
def cancel_comparison(
    comparison: ComparisonKey, conn: Db, app_state: AppState, who: Scrimmer
) -> ComparisonDetail:
    """Stops it without a verdict."""
    found = permissions.visible_comparison(conn, who, comparison)
    if not permissions.may_see_private(who, found.team_id):
        raise ProblemError("forbidden", "Only the team that asked may cancel a comparison.")
    return comparison_detail(app_state, conn, comparisons.cancel_comparison(conn, found.id))


def comparison_detail(app_state: State, conn: Connection, found: Comparison) -> ComparisonDetail:
    pairs = stored_pairs.played_pairs(conn, found)
    today = daily_pairs.pairs_of_running(conn, found)
    report = stored_pairs.stored_report(found, pairs)
    replays = analyse_replays(app_state, conn, found, pairs)
    old, new = (
        None
        if side is None
        else SideOut.model_validate(side).model_copy(update={"mean_move_seconds": seconds})
        for side, seconds in (
            (report.old, replays.old_move_seconds),
            (report.new, replays.new_move_seconds),
        )
    )
    return ComparisonDetail(
        **ComparisonOut.model_validate(found).model_dump(),
        today=None if today is None else PairsTodayOut.model_validate(today),
        unfinished_pairs=stored_pairs.unfinished_pairs(conn, found.id),
        statistic=report.statistic,
        pairs=report.pairs,
        difference=report.difference,
        low=report.low,
        high=report.high,
        old=old,
        new=new,
        seats=[GainOut.model_validate(gain) for gain in report.seats],
        opponents=[GainOut.model_validate(gain) for gain in report.opponents],
        log_likelihood_ratio=report.log_likelihood_ratio,
        course=[BoundsOut.model_validate(one) for one in stored_pairs.course(conn, found.id)],
        first_differences=[
            FirstDifferenceOut.model_validate(one) for one in replays.first_differences
        ],
    )
