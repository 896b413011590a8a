"""Batches of scrims: one agent against many, or own versions against each other."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from ladder.database.db import Connection
from ladder.ids import ScrimBatchId
from ladder.people.records import Viewer
from ladder.scrims import batches
from ladder.scrims.batches import Batch, BatchKind, BatchResults
from ladder.scrims.request_models import NewBatchBody
from services.http import permissions, scrim_access
from services.http.app_state import Db
from services.http.auth import Known, Scrimmer
from services.http.batch_export import results_csv
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.participant_export import ExportForm
from services.http.path_parameters import BatchKey, Filter
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["scrims"], route_class=LazyRoute)


class CompetitorOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    submission_id: str
    submission_number: int
    agent_id: str
    agent_name: str


class PlannedPairingOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    first: CompetitorOut
    second: CompetitorOut
    refusal: str | None = Field(description="why they cannot play")


class GamesTodayOut(BaseModel):
    """Scrim games of a team in a UTC day in this season."""

    model_config = ConfigDict(from_attributes=True)
    used: int
    allowed: int
    left: int
    resets_at: datetime


class BatchPlanOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    pairings: list[PlannedPairingOut]
    games: int = Field(description="games that the batch takes of the daily limit")
    today: GamesTodayOut


class BatchOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["sbt_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str
    league_id: str
    team_id: str
    requested_by: str | None = Field(description="null for people of other teams")
    kind: BatchKind
    games_each: int
    created_at: datetime
    ended_at: datetime | None


class BatchCellOut(BaseModel):
    """A pairing and its results so far. The interval is Wilson's, 95 %."""

    model_config = ConfigDict(from_attributes=True)
    scrim_id: str
    state: str
    first_submission_id: str
    first_number: int
    first_version: int = Field(description="place among the submissions of its agent, from 1")
    first_name: str
    second_submission_id: str
    second_number: int
    second_version: int
    second_name: str
    games: int
    finished_games: int
    void_games: int
    score: float | None = Field(description="share that the first one won; a tie counts half")
    interval: tuple[float, float]
    first_faults: int
    second_faults: int


class BatchTotalOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    submission_id: str
    number: int
    name: str
    games: int
    score: float | None
    interval: tuple[float, float]


class BatchDetail(BatchOut):
    games: int
    finished_games: int
    void_games: int
    seconds_left: float | None = Field(description="until the end, at the pace of the last minutes")
    cells: list[BatchCellOut]
    totals: list[BatchTotalOut]


@router.post(
    "/scrim-batches/plan",
    summary="See what a batch would take",
    responses=problem_responses(403, 404, 409),
)
def plan_batch(body: NewBatchBody, conn: Db, who: Scrimmer) -> BatchPlanOut:
    """Changes nothing: the pairings, whom policies refuse, and the games of the daily limit."""
    asked = scrim_access.new_batch(conn, who, body)
    return BatchPlanOut.model_validate(batches.plan_batch(conn, asked))


@router.post(
    "/scrim-batches",
    status_code=201,
    summary="Start a batch of scrims",
    response_model=BatchOut,
    responses=problem_responses(403, 404, 409, 429),
)
def start_batch(body: NewBatchBody, conn: Db, who: Scrimmer, once: Idempotent) -> Response:
    """Plays all pairings. Opponents must accept scrims automatically."""
    asked = scrim_access.new_batch(conn, who, body)
    return once.run(lambda: BatchOut.model_validate(batches.start_batch(conn, asked)))


@router.get(
    "/scrim-batches", summary="List batches of scrims", responses=problem_responses(403, 404)
)
def list_batches(conn: Db, who: Known, span: Paging, team: Filter = None) -> Page[BatchOut]:
    """Lists the batches of your teams, newest first."""
    teams = [permissions.team_to_act_for(conn, who, team).id] if team else sorted(who.team_ids)
    rows = batches.list_batches(
        conn, teams, ScrimBatchId(span.after) if span.after else None, span.limit
    )
    return span.page(rows, lambda row: row.id, BatchOut.model_validate)


@router.get(
    "/scrim-batches/{batch}", summary="Read a batch of scrims", responses=problem_responses(404)
)
def read_batch(batch: BatchKey, conn: Db, who: Known) -> BatchDetail:
    """The results of each pairing so far, with intervals, and the time until the end."""
    return batch_detail(conn, who, permissions.visible_batch(conn, who, batch))


@router.get(
    "/scrim-batches/{batch}/results",
    summary="Download the results of a batch",
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **problem_responses(404),
    },
    response_model=list[BatchCellOut],
)
def export_batch(batch: BatchKey, conn: Db, who: Known, format: ExportForm = "json") -> Response:
    """One row for each pairing, as JSON or CSV."""
    found = permissions.visible_batch(conn, who, batch)
    results = batches.read_results(conn, found.id)
    if format == "csv":
        return Response(results_csv(results), media_type="text/csv; charset=utf-8")
    rows = [BatchCellOut.model_validate(cell).model_dump(mode="json") for cell in results.cells]
    return JSONResponse(rows)


@router.post(
    "/scrim-batches/{batch}/cancel",
    summary="Cancel a batch of scrims",
    responses=problem_responses(403, 404),
)
def cancel_batch(batch: BatchKey, conn: Db, who: Scrimmer) -> BatchDetail:
    """Stops unfinished games. The daily limit gets back those that never ran. Finished ones
    stay."""
    found = permissions.own_batch(conn, who, batch)
    return batch_detail(conn, who, batches.cancel_batch(conn, found.id))


def batch_detail(conn: Connection, who: Viewer, found: Batch) -> BatchDetail:
    results: BatchResults = batches.read_results(conn, found.id)
    detail = BatchDetail(
        **BatchOut.model_validate(found).model_dump(),
        games=results.games,
        finished_games=results.finished_games,
        void_games=results.void_games,
        seconds_left=results.seconds_left,
        cells=[BatchCellOut.model_validate(cell) for cell in results.cells],
        totals=[BatchTotalOut.model_validate(one) for one in results.totals()],
    )
    if not permissions.may_see_requester(who, found.team_id):
        detail.requested_by = None
    return detail
