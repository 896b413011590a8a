"""Submissions: immutable uploads of an agent's code."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response, Security
from fastapi.security import SecurityScopes
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ladder.entries import agents, entries
from ladder.entries.daily_uploads import UploadLimits
from ladder.entries.records import Submission
from ladder.entries.request_models import Note
from ladder.entries.submit import SeasonToEnter, SubmitResult, Upload, submit
from ladder.ids import SubmissionId
from ladder.leagues.settings import USUAL_BUNDLE_BYTES
from ladder.people.records import Viewer
from ladder.runtime_profiles import Name as Profile
from services.api.entries import EntryOut
from services.api.entries import entry_out as shown_entry
from services.http import permissions, uploads
from services.http.app_state import Db, app_state_of, transaction
from services.http.auth import Credentials, Known, check_scopes, viewer_of_request
from services.http.body_limits import arrival_of
from services.http.idempotency import IdempotencyKey, IdempotentRequest
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import AgentKey, Filter, SubmissionKey
from services.http.problems import ProblemError, problem_responses
from services.http.uploads import UploadPlan

router = APIRouter(prefix="/v1", tags=["submissions"], route_class=LazyRoute)
FORM = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
    "additionalProperties": False,
}


class SubmissionOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["sub_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    number: int
    version: int = Field(description="place among the submissions of its agent; 1 is the first")
    agent_id: str
    team_id: str
    digest: str = Field(description="SHA-256 of the bytes")
    size_bytes: int
    filename: str
    message: str
    created_at: datetime
    url: str | None = Field(
        default=None, description="address of a remote agent; shown to its team alone"
    )


class UploadOut(BaseModel):
    """The submission. With a season also its entry and the uploads left today."""

    submission: SubmissionOut
    entry: EntryOut | None = None
    limits: UploadLimits | None = None


def submission_out(who: Viewer, found: Submission) -> SubmissionOut:
    """The part of a submission that the viewer may see. Only the team sees the address, not even
    administrators, because anybody who knows the address can submit it."""
    out = SubmissionOut.model_validate(found)
    out.url = found.url if found.team_id in who.team_ids else None
    return out


def upload_out(conn: Db, who: Viewer, sent: SubmitResult) -> UploadOut:
    """The submission and entry that an upload made, for its sender."""
    out = UploadOut(submission=submission_out(who, sent.submission))
    if sent.entry is not None:
        out.entry = shown_entry(conn, who, sent.entry)
        out.limits = sent.limits
    return out


async def plan_upload(
    request: Request,
    scopes: SecurityScopes,
    credentials: Credentials,
    agent: AgentKey,
    season: Filter = None,
) -> UploadPlan:
    """Checks who uploads for which agent into which season before reading the body. Uses a
    transaction of its own, so that a slow upload holds no connection."""

    def look() -> UploadPlan:
        app_state_of(request).blobs.require_room()
        with transaction(app_state_of(request)) as conn:
            who = check_scopes(viewer_of_request(request, conn, credentials), scopes.scopes)
            found = permissions.own_agent(conn, who, agent)
            entering = None
            if season:
                entering = permissions.season_to_enter(conn, who, season, found.team_id)
        assert who.user_id is not None
        limit_bytes = entering.max_bundle_bytes if entering else USUAL_BUNDLE_BYTES
        return UploadPlan(who, who.user_id, found.id, entering, limit_bytes)

    async with app_state_of(request).intake.turn:
        return await run_in_threadpool(look)


PlannedUpload = Annotated[UploadPlan, Security(plan_upload, scopes=["agents:write"])]


@router.post(
    "/agents/{agent}/submissions",
    status_code=201,
    summary="Upload a bundle",
    response_model=UploadOut,
    responses={
        200: {"model": UploadOut, "description": "The same bytes were uploaded before"},
        **problem_responses(403, 404, 409, 429, 507),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "main.py, or a .tar.gz, .tar or .zip with main.py or peck.json at its "
            "root; send the raw bytes, or a form with this one file",
            "content": {
                "application/octet-stream": {"schema": {"type": "string"}},
                "multipart/form-data": {"schema": FORM},
            },
        }
    },
)
async def upload_submission(
    request: Request,
    planned: PlannedUpload,
    content_digest: uploads.ContentDigest = None,
    key: IdempotencyKey = None,
    filename: Annotated[
        str | None,
        Query(
            pattern=r"^[^/\\\x00-\x1f\x7f]+$",
            max_length=120,
            description="default: the form's file name, else main.py",
        ),
    ] = None,
    message: Annotated[Note, Query()] = "",
    profile: Annotated[
        Profile | None,
        Query(description="default: what the submission or its agent has elsewhere, else numpy"),
    ] = None,
) -> Response:
    """Send the raw bytes as body (`curl --data-binary @main.py`), or a form with one file (`curl -F
    file=@main.py`). Repeating an upload gives the same submission and uses no upload.

    With `season` the submission also enters that season and validation starts. The answer says how
    many uploads the team has left today and when the count resets. `profile` is a name from `GET
    /v1/profiles`. If no node serves the profile now, the entry waits and its `reason` says so.
    """
    app_state = app_state_of(request)

    def record(body: uploads.ReceivedBody) -> Response:
        name = filename or body.filename or "main.py"
        uploads.refuse_other_files(body, name)
        with (
            body.file,
            app_state.blobs.receive(body.chunks(), limit_bytes=planned.limit_bytes) as incoming,
            transaction(app_state) as conn,
        ):
            stored = incoming.stored
            upload = Upload(stored.digest, stored.size, name, message)
            into = None
            if planned.season is not None:
                into = SeasonToEnter(planned.season, profile, arrival_of(request))

            def create() -> tuple[UploadOut, int]:
                sent = submit(conn, planned.agent_id, upload, planned.user_id, into)
                incoming.keep()  # last, so that a refused upload leaves no file
                return upload_out(conn, planned.who, sent), 201 if sent.is_new else 200

            return IdempotentRequest(conn, planned.who, key, request, stored.digest).run(create)

    async with app_state.intake.hold_upload_slot(planned.user_id, request):
        body = await uploads.receive_bundle(request, planned.limit_bytes, content_digest)
        async with app_state.intake.turn:
            return await run_in_threadpool(record, body)


@router.get(
    "/agents/{agent}/submissions",
    summary="List an agent's submissions",
    responses=problem_responses(403, 404),
)
def list_submissions(agent: AgentKey, conn: Db, who: Known, span: Paging) -> Page[SubmissionOut]:
    """Newest first. Owner only."""
    found = permissions.visible_agent(conn, who, agent)
    if not permissions.may_see_submissions(who, found.team_id):
        raise ProblemError("forbidden", "Only the owner of the agent may read its submissions.")
    rows = agents.list_submissions(
        conn, found.id, SubmissionId(span.after) if span.after else None, span.limit
    )
    return span.page(rows, lambda row: row.id, lambda row: submission_out(who, row))


@router.get(
    "/submissions/{submission}", summary="Read a submission", responses=problem_responses(404)
)
def read_submission(submission: SubmissionKey, conn: Db, who: Known) -> SubmissionOut:
    """Owner only."""
    return submission_out(who, permissions.visible_submission(conn, who, submission))


@router.get(
    "/submissions/{submission}/entries",
    summary="List a submission's entries",
    responses=problem_responses(404),
)
def list_submission_entries(submission: SubmissionKey, conn: Db, who: Known) -> Page[EntryOut]:
    """The submission's entries in all seasons. Owner only."""
    found = permissions.visible_submission(conn, who, submission)
    rows = entries.list_entries(conn, submission_id=found.id, limit=1000)
    return Page(items=[shown_entry(conn, who, row) for row in rows])
