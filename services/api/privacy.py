"""Exports and deletes accounts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.ids import UserId
from ladder.people import audit_log
from ladder.privacy import account_fate, erasing
from services.http import privacy
from services.http.app_state import AppState, Db
from services.http.auth import FullAdmin, FullToken, Known
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import UserKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["privacy"], route_class=LazyRoute)


class Deletion(BaseModel):
    """The request to delete one's account."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Ada", "password": "three geese on a torus"}]},
    )
    name: Annotated[str, Field(max_length=200, description="your name, as a confirmation")]
    password: Annotated[
        str, Field(max_length=1000, description="your password, if you have one")
    ] = ""


class DeletedOut(BaseModel):
    """What stays of a deleted account."""

    pseudonym: str = Field(examples=["Deleted user z3x9"])


class FateOut(BaseModel):
    """What the deletion of your account would end."""

    model_config = ConfigDict(from_attributes=True)
    ended_teams: list[str] = Field(description="teams without other members; their agents go")
    left_teams: list[str] = Field(description="teams that other members keep, with their agents")
    ended_leagues: list[str] = Field(description="leagues that close: nobody else takes part")
    orphan_leagues: list[str] = Field(description="leagues that go on without a host")


@router.get(
    "/users/me/export",
    summary="Export everything that is yours",
    response_class=Response,
    responses={
        200: {
            "description": "A zip file",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        },
        **problem_responses(403, 429),
    },
)
def export_account(app_state: AppState, who: FullToken) -> Response:
    """A zip file: a JSON file for each kind of row, your bundles and logs, and replays that you may
    see. It is read while it is sent. The token needs all scopes that a password gives, and must not
    expire."""
    return privacy.export_response(app_state, who)


@router.get("/users/me/deletion", summary="Read what deleting your account would end")
def preview_deletion(conn: Db, who: Known) -> FateOut:
    """Deletes nothing."""
    assert who.user_id is not None
    return FateOut.model_validate(account_fate.preview_erasure(conn, who.user_id))


@router.post(
    "/users/me/deletion",
    status_code=202,
    summary="Delete your account",
    responses=problem_responses(403, 409, 429),
)
def delete_account(
    body: Deletion, request: Request, app_state: AppState, who: FullToken
) -> DeletedOut:
    """Deletes your account for good. Results stay under a pseudonym. Reasons, logs and bundles go
    within a minute. The token needs all scopes that a password gives, and must not expire. People
    who sign in with a passkey or an identity use the page /me/data instead."""
    privacy.check_password(request, app_state, who, body.password)
    return DeletedOut(pseudonym=privacy.delete_account(app_state, who, body.name))


@router.delete(
    "/users/{user}",
    status_code=202,
    summary="Delete a person's account",
    responses=problem_responses(403, 404, 409),
)
def delete_user(user: UserKey, conn: Db, who: FullAdmin) -> DeletedOut:
    """Administrators only, for a person who asks for it elsewhere. Works like the deletion of one's
    own account. The token needs all scopes and must not expire."""
    pseudonym = erasing.erase_person(conn, UserId(user))
    audit_log.record_audit(
        conn, None, by=who.user_id, act="delete-account", subject=user, reason="by the API"
    )
    return DeletedOut(pseudonym=pseudonym)
