"""Administration: blocks of accounts, settings of the instance, and the audit log of everything."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.entries import blocked_accounts
from ladder.errors import Invalid
from ladder.field_types import Line
from ladder.ids import UserId
from ladder.leagues.sign_up import SignUpMode
from ladder.people import administration, instance_settings, quotas
from ladder.people.audit_log import AuditEntry
from ladder.people.instance_settings import QUOTA, SIGN_UP
from services.http.app_state import AppState, Db
from services.http.auth import Admin
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import UserKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["administration"], route_class=LazyRoute)
Quota = Annotated[int, Field(ge=0, le=10_000_000)]


class AccountBlock(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "spam"}]})
    reason: Annotated[Line, Field(min_length=1, description="the person reads it")]


class InstanceSettingsOut(BaseModel):
    """What counts now. ``chosen`` names the settings that an administrator chose."""

    sign_up: str = Field(description="open, invitation, closed, or local before a choice")
    quotas: dict[str, int] = Field(description="highest numbers a day", examples=[{"uploads": 200}])
    chosen: list[str]


class InstanceSettingsChange(BaseModel):
    """Settings to change; null goes back to the default."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"sign_up": "open"}]})
    sign_up: SignUpMode | None = None
    quotas: dict[Line, Quota | None] = Field(default_factory=dict, max_length=20)


def settings_out(conn: Db, app_state: AppState) -> InstanceSettingsOut:
    chosen = instance_settings.read_settings(conn)
    return InstanceSettingsOut(
        sign_up=chosen.get(SIGN_UP) or app_state.settings.sign_up,
        quotas={
            name: chosen.get(f"{QUOTA}{name}", allowed)
            for name, allowed in quotas.default_quotas().items()
        },
        chosen=sorted(chosen),
    )


@router.put(
    "/users/{user}/block",
    status_code=204,
    summary="Block an account",
    responses=problem_responses(403, 404, 409),
)
def block_account(user: UserKey, body: AccountBlock, conn: Db, who: Admin) -> Response:
    """Administrators only. Ends the person's sessions and tokens, and pauses the agents of teams
    whose people are all blocked. The person cannot sign in, and reads the reason."""
    blocked_accounts.block_account(conn, who, UserId(user), body.reason)
    return Response(status_code=204)


@router.delete(
    "/users/{user}/block",
    status_code=204,
    summary="Unblock an account",
    responses=problem_responses(403, 404),
)
def unblock_account(user: UserKey, conn: Db, who: Admin) -> Response:
    """Administrators only. Paused agents play again. The person signs in anew; old tokens stay
    revoked. Repeating it changes nothing."""
    blocked_accounts.unblock_account(conn, who, UserId(user), "unblocked")
    return Response(status_code=204)


@router.get(
    "/admin/settings", summary="Read the instance's settings", responses=problem_responses(403)
)
def read_instance_settings(conn: Db, who: Admin, app_state: AppState) -> InstanceSettingsOut:
    """Administrators only: who may sign up, and the quotas."""
    return settings_out(conn, app_state)


@router.patch(
    "/admin/settings", summary="Change the instance's settings", responses=problem_responses(403)
)
def change_instance_settings(
    body: InstanceSettingsChange, conn: Db, who: Admin, app_state: AppState
) -> InstanceSettingsOut:
    """Administrators only. Changes what the request names, at once and for all processes; null goes
    back to the default. Each change has an audit entry."""
    unknown = sorted(body.quotas.keys() - quotas.default_quotas().keys())
    if unknown:
        known = ", ".join(quotas.default_quotas())
        raise Invalid("quotas", f"choose from {known}; {unknown[0]!r} is not one")
    if "sign_up" in body.model_fields_set:
        instance_settings.change_setting(conn, who, SIGN_UP, body.sign_up)
    for name, allowed in body.quotas.items():
        instance_settings.change_setting(conn, who, f"{QUOTA}{name}", allowed)
    return settings_out(conn, app_state)


@router.get(
    "/admin/audits", summary="List audited acts of the instance", responses=problem_responses(403)
)
def list_system_audits(conn: Db, who: Admin, span: Paging) -> Page[AuditEntry]:
    """Administrators only: acts on accounts, on settings and in all leagues. Newest first."""
    rows = administration.list_all_audits(conn, after=span.after, limit=span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)
