"""Blobs of the matches that a machine plays: a machine needs no key of the blob store."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response, Security
from fastapi.responses import RedirectResponse, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from ladder.ids import UserId
from ladder.machines import lease_blobs, machines
from ladder.machines.machines import Machine
from services.http import uploads
from services.http.app_state import AppState, app_state_of, transaction
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import Digest
from services.http.problems import ProblemError, problem_responses

router = APIRouter(prefix="/v1/machine/blobs", tags=["machines"], route_class=LazyRoute)
BYTES = {"application/octet-stream": {"schema": {"type": "string"}}}
bearer = HTTPBearer(
    auto_error=False,
    scheme_name="machine",
    description="The secret of a machine, from POST /v1/machines/join.",
)


async def machine_of_request(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)],
) -> Machine:
    """The machine of the secret. Uses a transaction of its own, so that a slow body holds no
    connection. Raises ProblemError for a wrong or revoked one."""

    def find(secret: str) -> Machine | None:
        with transaction(app_state_of(request)) as conn:
            return machines.machine_of_secret(conn, secret)

    machine = None
    if credentials is not None:
        machine = await run_in_threadpool(find, credentials.credentials)
    if machine is None:
        raise ProblemError(
            "unauthorized", "Send the secret of a machine that joined and was not revoked."
        )
    return machine


KnownMachine = Annotated[Machine, Security(machine_of_request)]


@router.get(
    "/{digest}",
    summary="Read a blob of a match",
    response_class=Response,
    responses={
        200: {"description": "The bytes", "content": BYTES},
        307: {"description": "A signed address of the bytes, for a minute"},
        **problem_responses(404),
    },
)
def read_machine_blob(digest: Digest, machine: KnownMachine, app_state: AppState) -> Response:
    """Machines only, with their secret as token: a bundle of a match of which a worker of the
    machine holds the lease now, or the replay that this match continues."""
    with transaction(app_state) as conn:
        lease_blobs.require_readable(conn, machine.id, digest)
    if address := app_state.blobs.signed_address(digest):
        return RedirectResponse(address)
    return StreamingResponse(app_state.blobs.open(digest), media_type="application/octet-stream")


@router.put(
    "/{digest}",
    status_code=204,
    summary="Store a blob of a match",
    responses=problem_responses(404, 409, 429, 507),
    openapi_extra={"requestBody": {"required": True, "content": BYTES}},
)
async def store_machine_blob(request: Request, digest: Digest, machine: KnownMachine) -> Response:
    """Machines only, with their secret as token, while a worker of the machine holds a lease. Each
    lease has a limit of bytes. Repeating it changes nothing."""
    app_state = app_state_of(request)

    def look() -> None:
        with transaction(app_state) as conn:
            lease_blobs.require_lease(conn, machine.id)

    def record(body: uploads.ReceivedBody) -> None:
        limit_bytes = lease_blobs.MOST_BYTES
        with (
            body.file,
            app_state.blobs.receive(body.chunks(), limit_bytes=limit_bytes) as incoming,
            transaction(app_state) as conn,
        ):
            lease_blobs.record_upload(conn, machine.id, digest, body.size_bytes)
            incoming.keep()

    async with app_state.intake.hold_upload_slot(UserId(machine.id), request):
        async with app_state.intake.turn:
            await run_in_threadpool(look)
        body = await uploads.receive_bundle(request, lease_blobs.MOST_BYTES, None)
        if body.digest != digest:
            body.file.close()
            raise ProblemError("digest-mismatch")
        async with app_state.intake.turn:
            await run_in_threadpool(record, body)
    return Response(status_code=204)
