"""Entries: a submission in a season, from validation to rating."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.entries import entries, remote_agents, validations
from ladder.entries.daily_uploads import UploadLimits
from ladder.entries.records import Entry, EntryState, PauseCause
from ladder.field_types import Key
from ladder.ids import EntryId
from ladder.people.records import Viewer
from ladder.ratings import live_ratings
from ladder.runtime_profiles import Name as Profile
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Known, Writer
from services.http.body_limits import arrival_of
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import EntryKey, Filter, SeasonKey
from services.http.problems import ProblemError, problem_responses
from services.http.seat_logs import LogFormat, read_seat_log
from services.http.validation_steps import read_validation_steps

router = APIRouter(prefix="/v1", tags=["entries"], route_class=LazyRoute)


class QueueOut(BaseModel):
    """The place of a validation in the queue, and the estimated wait."""

    model_config = ConfigDict(from_attributes=True)
    position: int
    eta_seconds: float | None = Field(
        description="until its validation should end; null if nothing known says so"
    )
    playing_seconds: float | None = Field(description="since its validation match began")
    step: int | None = Field(
        default=None, description="steps played of its validation match; `GET` of one entry only"
    )
    most_steps: int | None = Field(default=None, description="most steps that it can have")


class EntryOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["ent_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str
    league_id: str
    agent_id: str
    agent_name: str
    team_id: str
    team_name: str
    submission_id: str
    submission_number: int
    version: int = Field(description="place of the submission among those of its agent, from 1")
    profile: str
    remote: bool = Field(description="whether the agent runs at its owner's address")
    state: EntryState
    is_anchor: bool
    mu: float | None = Field(
        description="mean of the live rating. mu and sigma are null if a match has one seat; then "
        "the leaderboard shows what ranks the entry"
    )
    sigma: float | None
    games: int
    last_match_at: datetime | None
    created_at: datetime
    activated_at: datetime | None
    disqualified_at: datetime | None = Field(
        description="time of the disqualification: the entry is retired and its results do not "
        "count officially"
    )
    paused_at: datetime | None = Field(
        description="time when it was paused; it keeps its rank but is not paired"
    )
    pause_cause: PauseCause | None = Field(
        default=None,
        description="unreachable: the third strike of a remote agent paused it; team_blocked: all "
        "people of its team are blocked; shown only to its team and graders",
    )
    strikes: int | None = Field(
        default=None,
        description="rated matches that a remote agent did not answer. Ten answered matches in a "
        "row remove one strike. The third strike pauses the entry; each further unanswered match "
        "is a loss. Shown only to its team and graders",
    )
    next_try_at: datetime | None = Field(
        default=None,
        description="time of the next automatic try of a paused entry; null during a try; shown "
        "only to its team and graders",
    )
    reason: str | None = Field(
        default=None,
        description="why it was rejected, paused or disqualified, what the last strike was, a "
        "warning of its validation, or which node a pending entry waits for; shown only to its "
        "team and graders",
    )
    validation_match_id: str | None = Field(
        default=None, description="shown only to its team and graders"
    )
    queue: QueueOut | None = Field(
        default=None, description="while it waits; shown only to its team and graders"
    )


class NewEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    submission: Key
    profile: Profile | None = Field(
        default=None,
        description="default: the profile of the submission or agent elsewhere, else numpy",
    )


class EnteredOut(BaseModel):
    entry: EntryOut
    limits: UploadLimits


class CurvePoint(BaseModel):
    """The rating after one match."""

    model_config = ConfigDict(from_attributes=True)
    no: int
    match_id: str
    mu: float
    sigma: float
    at: datetime


def entry_out(conn: Db, who: Viewer, entry: Entry) -> EntryOut:
    """The part of an entry that the viewer may see. The caller checks that the viewer may see the
    entry."""
    out = EntryOut.model_validate(entry)
    if not entry.has_score:
        out.mu = out.sigma = None
    if not permissions.may_read_logs(who, entry.team_id, entry.league_id):
        out.reason = out.validation_match_id = out.strikes = out.next_try_at = None
        out.pause_cause = None
    elif entry.state in entries.VALIDATED:
        place = validations.queue_place_of(conn, entry.id)
        if place is not None:
            out.queue = QueueOut.model_validate(place)
            out.reason = place.reason or out.reason
    return out


@router.post(
    "/seasons/{season}/entries",
    status_code=201,
    summary="Enter a submission",
    response_model=EnteredOut,
    responses={
        200: {"model": EnteredOut, "description": "The submission was already entered"},
        **problem_responses(403, 404, 409, 429),
    },
)
def create_entry(
    season: SeasonKey, body: NewEntry, request: Request, conn: Db, who: Writer, once: Idempotent
) -> Response:
    """Uses one of the team's uploads of the day and starts validation."""
    submission = permissions.own_submission(conn, who, body.submission)
    found = permissions.season_to_enter(conn, who, season, submission.team_id)

    def create() -> tuple[EnteredOut, int]:
        entry, limits, created = entries.enter_season(
            conn,
            found.id,
            submission.id,
            profile=body.profile,
            began=arrival_of(request),
            by=who.user_id,
        )
        entered = EnteredOut(entry=entry_out(conn, who, entry), limits=limits)
        return entered, 201 if created else 200

    return once.run(create)


@router.get("/entries", summary="List entries", responses=problem_responses(404))
def list_entries(
    conn: Db,
    who: Anyone,
    span: Paging,
    season: Filter = None,
    agent: Filter = None,
    team: Filter = None,
    state: Annotated[EntryState | None, Query()] = None,
) -> Page[EntryOut]:
    """Lists the entries of a season, an agent or a team, newest first. Name one of them."""
    if season is None and agent is None and team is None:
        raise ProblemError("invalid", "name a season, an agent or a team.", where="query")
    rows = entries.list_entries(
        conn,
        viewer=who,
        season_id=permissions.visible_season(conn, who, season).id if season else None,
        agent_id=permissions.visible_agent(conn, who, agent).id if agent else None,
        team_id=permissions.visible_team(conn, who, team).id if team else None,
        state=state,
        after=EntryId(span.after) if span.after else None,
        limit=span.limit,
    )
    return span.page(rows, lambda row: row.id, lambda row: entry_out(conn, who, row))


@router.get("/entries/{entry}", summary="Read an entry", responses=problem_responses(404))
def read_entry(entry: EntryKey, conn: Db, who: Anyone, app_state: AppState) -> EntryOut:
    """The state. The owner also sees the reason, the place in the queue, the wait and the step of
    the validation match."""
    found = permissions.visible_entry(conn, who, entry)
    out = entry_out(conn, who, found)
    if out.queue is not None:
        steps = read_validation_steps(app_state.settings.redis_url, conn, found)
        if steps is not None:
            out.queue.step, out.queue.most_steps = steps.played, steps.most
            if steps.bank_ends_at is not None:
                out.queue.eta_seconds = steps.seconds_left
    return out


@router.get(
    "/entries/{entry}/log",
    summary="Read the validation log of an entry",
    responses=problem_responses(403, 404),
)
def read_entry_log(
    entry: EntryKey,
    conn: Db,
    who: Known,
    app_state: AppState,
    format: LogFormat = "raw",
) -> Any:
    """Output, times and traceback of the seat that failed, else of one with a warning, else of the
    first seat. For the owner, and graders of the league to whom the team agreed."""
    found = permissions.visible_entry(conn, who, entry)
    if not permissions.may_read_logs(who, found.team_id, found.league_id):
        raise ProblemError("forbidden", "Only the owner of the agent may read its logs.")
    if found.validation_match_id is None:
        raise ProblemError("not-found", "There is no validation match yet.")
    match = permissions.visible_match(conn, who, found.validation_match_id)
    failed = [seat for seat in match.seats if seat.failed_step is not None]
    warned = [seat for seat in match.seats if seat.reason]
    seat = (failed or warned or list(match.seats))[0]
    return read_seat_log(app_state.blobs, who, match, seat.seat, format)


@router.get(
    "/entries/{entry}/ratings",
    summary="Read an entry's rating curve",
    responses=problem_responses(404),
)
def read_rating_curve(
    entry: EntryKey,
    conn: Db,
    who: Anyone,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> Page[CurvePoint]:
    """The rating after each of the newest ``limit`` rated matches, oldest first. Empty if a match
    has one seat."""
    found = permissions.visible_entry(conn, who, entry)
    points = live_ratings.rating_curve(conn, found.id, limit) if found.is_rated else []
    return Page(items=[CurvePoint.model_validate(point) for point in points])


@router.post(
    "/entries/{entry}/retire", summary="Retire an entry", responses=problem_responses(403, 404, 409)
)
def retire_entry(entry: EntryKey, conn: Db, who: Writer) -> EntryOut:
    """The entry plays no more and keeps its history. Repeating this changes nothing. Refused after
    uploads lock, and for the entry that stands for a team with other entries."""
    found = permissions.own_entry(conn, who, entry)
    return entry_out(conn, who, entries.retire_entry(conn, found.id))


@router.post(
    "/entries/{entry}/resume",
    summary="Try a paused entry now",
    responses=problem_responses(403, 404, 409, 429),
)
def resume_entry(entry: EntryKey, conn: Db, who: Writer) -> EntryOut:
    """Validates a paused remote agent again at once. If it passes, it plays again."""
    found = permissions.own_entry(conn, who, entry)
    return entry_out(conn, who, remote_agents.retry_paused_entry(conn, found.id))
