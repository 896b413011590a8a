"""A person's channels and preferences: where notices go, and which."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response, Security
from fastapi.security import SecurityScopes
from pydantic import BaseModel, ConfigDict, Field

from egress.address import Address
from ladder.ids import ChannelId, DeliveryId, UserId
from ladder.notices import channels, preferences
from ladder.notices.channels import FAILURES_UNTIL_OFF
from ladder.notices.kinds import Form, NoticeKind
from ladder.people.records import Viewer
from services.api.notices import user_of
from services.http import notice_channels
from services.http.app_state import AppState, Db, app_state_of, transaction
from services.http.attempt_limits import Limits
from services.http.auth import (
    Credentials,
    Known,
    Writer,
    check_scopes,
    require_full_token,
    viewer_of_request,
)
from services.http.idempotency import IdempotencyKey, IdempotentRequest
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import ChannelKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1/me", tags=["notices"], route_class=LazyRoute)


class ChannelOut(BaseModel):
    """Where notices go. The whole address is not shown, because addresses of chats are secret."""

    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["nch_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    form: Form
    host: str = Field(examples=["hooks.example.org"])
    address_end: str = Field(description="last four characters of the address; empty for mail")
    mail_minutes: int = Field(description="least minutes between two mails")
    state: str = Field(examples=["on"])
    off_reason: str | None = Field(
        description=f"`owner`, `failures` ({FAILURES_UNTIL_OFF} in a row) or `gone` (status 410)"
    )
    failures: int = Field(description="failed calls in a row")
    retry_at: datetime | None = Field(description="not called before; null: at any time")
    created_at: datetime
    waiting: int = Field(description="deliveries that wait")
    last_sent_at: datetime | None


class CreatedChannelOut(ChannelOut):
    secret: str | None = Field(
        description="signs the calls of a webhook; shown only once, null for chats and if the"
        " request is repeated",
        examples=["whsec_..."],
    )


class DeliveryOut(BaseModel):
    """One notice on its way. Its id is the header `webhook-id` of every attempt."""

    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["ndl_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    notice_id: str | None = Field(description="null: a test")
    kind: str | None
    state: str = Field(description="`waiting`, `sent`, `failed` or `dropped`")
    attempts: int
    next_at: datetime
    deadline_at: datetime
    status: int | None = Field(description="status of the last answer; null: there was none")
    problem: str | None
    excerpt: str | None = Field(description="start of the last answer")
    created_at: datetime
    ended_at: datetime | None


class NewChannel(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"form": "webhook", "address": "https://hooks.example.org/ladder"}]
        },
    )
    form: Literal[Form.WEBHOOK, Form.DISCORD, Form.SLACK, Form.MAIL] = Form.WEBHOOK
    address: Annotated[
        str, Field(max_length=500, description="empty for mail, which goes to your proven address")
    ] = ""
    mail_minutes: Annotated[
        Literal[15, 60, 1440], Field(description="one mail for all notices of this time")
    ] = 60


class ChannelChange(BaseModel):
    model_config = ConfigDict(extra="forbid")
    state: Literal["on", "off"]


class PreferenceOut(BaseModel):
    """A kind of notices, and whether each form tells of it."""

    model_config = ConfigDict(from_attributes=True)
    kind: NoticeKind
    forms: dict[Form, bool]


class Choice(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: NoticeKind
    form: Form
    is_on: bool


class PreferenceChange(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"choices": [{"kind": "medal_likely", "form": "webhook", "is_on": False}]}]
        },
    )
    choices: Annotated[list[Choice], Field(max_length=200)]


@dataclass(frozen=True, slots=True)
class ChannelPlan:
    """Who makes a channel, and its checked address; None for mail."""

    who: Viewer
    user_id: UserId
    address: Address | None


def plan_channel(
    body: NewChannel, request: Request, scopes: SecurityScopes, credentials: Credentials
) -> ChannelPlan:
    """Checks person and address. Waits for DNS without a connection to the database."""
    app_state = app_state_of(request)
    with transaction(app_state) as conn:
        who = check_scopes(viewer_of_request(request, conn, credentials), scopes.scopes)
        require_full_token(conn, who, credentials)
    address = notice_channels.check_channel(app_state, who, body.form, body.address)
    return ChannelPlan(who, user_of(who), address)


PlannedChannel = Annotated[ChannelPlan, Security(plan_channel, scopes=["agents:write"])]


@router.get("/notices/channels", summary="List your channels")
def list_channels(conn: Db, who: Known) -> Page[ChannelOut]:
    """Where your notices go besides your page."""
    found = channels.list_channels(conn, user_of(who))
    return Page(items=[ChannelOut.model_validate(one) for one in found])


@router.post(
    "/notices/channels",
    status_code=201,
    summary="Make a channel",
    response_model=CreatedChannelOut,
    responses=problem_responses(403, 409, 429),
)
def create_channel(
    body: NewChannel,
    planned: PlannedChannel,
    conn: Db,
    request: Request,
    key: IdempotencyKey = None,
) -> Response:
    """Sends a test at once. The address must be public. Needs a token with all scopes that a
    password gives and without expiry, because a channel outlives the token."""
    digest = hashlib.sha256(body.model_dump_json().encode()).hexdigest()

    def create() -> CreatedChannelOut:
        made, secret = notice_channels.make_channel(
            conn, planned.user_id, body.form, planned.address, body.mail_minutes
        )
        shown = ChannelOut.model_validate(made)
        return CreatedChannelOut(**shown.model_dump(), secret=secret or None)

    once = IdempotentRequest(conn, planned.who, key, request, digest)
    return once.run(create, keep=lambda made: made.model_copy(update={"secret": None}))


@router.patch(
    "/notices/channels/{channel}",
    summary="Switch a channel on or off",
    responses=problem_responses(403, 404),
)
def switch_channel(channel: ChannelKey, body: ChannelChange, conn: Db, who: Writer) -> ChannelOut:
    """Off ends what waits as failed. On forgets earlier failures."""
    found = channels.switch_channel(conn, user_of(who), ChannelId(channel), on=body.state == "on")
    return ChannelOut.model_validate(found)


@router.delete(
    "/notices/channels/{channel}",
    status_code=204,
    summary="Delete a channel",
    responses=problem_responses(403, 404),
)
def delete_channel(channel: ChannelKey, conn: Db, who: Writer) -> None:
    """Deletes its deliveries too."""
    channels.delete_channel(conn, user_of(who), ChannelId(channel))


@router.post(
    "/notices/channels/{channel}/tests",
    status_code=201,
    summary="Send a test",
    responses=problem_responses(403, 404, 409, 429),
)
def send_test(channel: ChannelKey, conn: Db, app_state: AppState, who: Writer) -> DeliveryOut:
    """The delivery says how the test went; read it again after some seconds."""
    app_state.attempts.count_of_person(user_of(who), Limits.CHANNEL)
    return DeliveryOut.model_validate(channels.send_test(conn, user_of(who), ChannelId(channel)))


@router.get(
    "/notices/channels/{channel}/deliveries",
    summary="List deliveries of a channel",
    responses=problem_responses(404),
)
def list_deliveries(channel: ChannelKey, conn: Db, who: Known, span: Paging) -> Page[DeliveryOut]:
    """Newest first, with the reason of each failure. Ended ones are kept for 30 days."""
    after = DeliveryId(span.after) if span.after else None
    rows = channels.list_deliveries(conn, user_of(who), ChannelId(channel), after, span.limit)
    return span.page(rows, lambda row: row.id, DeliveryOut.model_validate)


@router.get("/notices/preferences", summary="Read which notices you get")
def read_preferences(conn: Db, who: Known) -> list[PreferenceOut]:
    """A row for each kind, with your choices or the defaults."""
    rows = preferences.list_preferences(conn, user_of(who))
    return [PreferenceOut(kind=row.kind, forms=dict(row.forms)) for row in rows]


@router.patch(
    "/notices/preferences",
    summary="Choose which notices you get",
    responses=problem_responses(403),
)
def change_preferences(body: PreferenceChange, conn: Db, who: Writer) -> list[PreferenceOut]:
    """Changes the named choices and keeps all others."""
    chosen = {(one.kind, one.form): one.is_on for one in body.choices}
    preferences.set_preferences(conn, user_of(who), chosen)
    return read_preferences(conn, who)
