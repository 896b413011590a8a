"""Takes the bytes or the address of a submission, which may also enter a season."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from fastapi import Query, Request, Response, Security
from fastapi.security import SecurityScopes
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from egress.address import AddressError, parse
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries, submit
from ladder.entries.deadlines import UploadLimits
from ladder.entries.records import ShownEntry, Submission
from ladder.entries.submit import NewRemote, Note, SeasonToEnter, SubmitResult, Upload
from ladder.errors import Invalid
from ladder.ids import AgentId, UserId
from ladder.leagues.records import Season
from ladder.leagues.settings import USUAL_BUNDLE_BYTES
from ladder.people.records import Viewer
from ladder.runtime_profiles import Name as Profile
from sandbox.remote import manifest as manifests
from services.http import permissions, uploads
from services.http.app_state import app_state_of, transaction
from services.http.auth import Credentials, check_scopes, viewer_of_request
from services.http.body_limits import arrival_of
from services.http.idempotency import IdempotencyKey, IdempotentRequest
from services.http.path_parameters import AgentKey, Filter
from services.http.problems import problem_responses

T = TypeVar("T")
IS_NEW = Field(default=True, exclude=True)
"""Whether the request made something; the status says it."""


class EnteredSeason(BaseModel):
    entry: ShownEntry
    limits: UploadLimits
    is_new: bool = IS_NEW


class Submitted(BaseModel):
    """The submission. With a season also its entry and the uploads left today."""

    submission: Submission
    entry: ShownEntry | None = None
    limits: UploadLimits | None = None
    is_new: bool = IS_NEW


ROUTE: Final[dict[str, Any]] = {
    "methods": ["POST"],
    "status_code": 201,
    "tags": ["submissions"],
    "summary": "Upload a bundle",
    "response_model": Submitted,
    "responses": {
        200: {"model": Submitted, "description": "The same bytes were uploaded before"},
        **problem_responses(403, 404, 409, 429, 507),
    },
    "openapi_extra": {
        "requestBody": {
            "required": True,
            "description": "main.py, or a .tar.gz, .tar or .zip with main.py or peck.json at its "
            "root; send the raw bytes, or a form with this one file",
            "content": {
                "application/octet-stream": {"schema": {"type": "string"}},
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "properties": {"file": {"type": "string", "format": "binary"}},
                        "required": ["file"],
                        "additionalProperties": False,
                    }
                },
            },
        }
    },
}


def shown_result(conn: Connection, viewer: Viewer, sent: SubmitResult) -> Submitted:
    """What an upload made, for its sender."""
    return Submitted(
        submission=agents.show_submission(viewer, sent.submission),
        entry=entries.show_entry(conn, viewer, sent.entry) if sent.entry else None,
        limits=sent.limits,
        is_new=sent.is_new,
    )


def submit_remote(
    conn: Connection,
    blobs: Blobs,
    viewer: Viewer,
    agent_id: AgentId,
    new: NewRemote,
    into: SeasonToEnter | None,
) -> Submitted:
    """Makes the submission of an address, and its entry. Parses the address as the caller of agents
    does. Raises Invalid."""
    try:
        address = parse(new.url)
        content = manifests.write_manifest(address, new.api)
    except AddressError as error:
        raise Invalid(error.field, error.message) from None
    upload = submit.remote_upload(content, str(address), new.message)
    sent = submit.submit(conn, agent_id, upload, viewer.user_id, into)
    blobs.put_bytes(content)  # last, so that a refused submission stores nothing
    return shown_result(conn, viewer, sent)


async def plan_before_body(
    request: Request,
    scopes: SecurityScopes,
    credentials: Credentials,
    plan: Callable[[Connection, Viewer], T],
) -> T:
    """Checks who uploads before the body is read. Uses a transaction of its own, so that a slow
    upload holds no connection."""
    app_state = app_state_of(request)

    def look() -> T:
        app_state.blobs.require_room()
        with transaction(app_state) as conn:
            viewer = check_scopes(viewer_of_request(request, conn, credentials), scopes.scopes)
            return plan(conn, viewer)

    async with app_state.intake.turn:
        return await run_in_threadpool(look)


@dataclass(frozen=True, slots=True)
class UploadPlan:
    """The purpose of an upload, fully checked."""

    viewer: Viewer
    user_id: UserId
    agent_id: AgentId
    season: Season | None
    limit_bytes: int


async def plan_upload(
    request: Request,
    scopes: SecurityScopes,
    credentials: Credentials,
    agent: AgentKey,
    season: Filter = None,
) -> UploadPlan:
    """Checks who uploads for which agent into which season."""

    def plan(conn: Connection, viewer: Viewer) -> UploadPlan:
        own = permissions.own_agent(conn, viewer, agent)
        into, limit_bytes = None, USUAL_BUNDLE_BYTES
        if season:
            into = permissions.season_to_enter(conn, viewer, season, own.team_id)
            limit_bytes = into.max_bundle_bytes
        assert viewer.user_id is not None
        return UploadPlan(viewer, viewer.user_id, own.id, into, limit_bytes)

    return await plan_before_body(request, scopes, credentials, plan)


async def upload_submission(
    request: Request,
    planned: Annotated[UploadPlan, Security(plan_upload, scopes=["agents:write"])],
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

            def create() -> tuple[Submitted, int]:
                sent = submit.submit(conn, planned.agent_id, upload, planned.user_id, into)
                incoming.keep()  # last, so that a refused upload leaves no file
                return shown_result(conn, planned.viewer, sent), 201 if sent.is_new else 200

            return IdempotentRequest(conn, planned.viewer, key, request, stored.digest).run(create)

    async with app_state.intake.hold_upload_slot(planned.user_id, request):
        body = await uploads.receive_bundle(request, planned.limit_bytes, content_digest)
        async with app_state.intake.turn:
            return await run_in_threadpool(record, body)
