"""A person's own notices."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from ladder.field_types import Key
from ladder.ids import NoticeId, UserId
from ladder.notices import inbox
from ladder.notices.kinds import NoticeKind
from ladder.people.records import Viewer
from ladder.reports.open_requests import RequestKind, list_open_requests
from services.http.app_state import Db
from services.http.auth import Known, Writer
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1/me", tags=["notices"], route_class=LazyRoute)


class NoticeOut(BaseModel):
    """A notice with the present names. ``path`` is a page of this site that shows more."""

    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["not_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    kind: NoticeKind
    title: str = Field(examples=["Flood passed its validation"])
    text: str
    path: str = Field(examples=["/agents/age_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    league: str | None
    subject: dict[str, str] = Field(description="ids of what it is about, such as `agent_id`")
    created_at: datetime
    read_at: datetime | None


class OpenRequestOut(BaseModel):
    """A request that waits for your answer. All requests to join one league are one item."""

    model_config = ConfigDict(from_attributes=True)
    kind: RequestKind
    id: str = Field(description="of several requests, the id of the newest one")
    title: str = Field(examples=["Night Geese asks Flood for a scrim"])
    text: str
    path: str = Field(
        description="page of this site on which you answer",
        examples=["/scrim-requests/srq_01j8x6m3c2k4v9q0w7r5t1y8z3"],
    )
    created_at: datetime = Field(description="of several requests, that of the newest one")
    expires_at: datetime = Field(description="of several requests, the end of the oldest one")


class NoticesRead(BaseModel):
    model_config = ConfigDict(extra="forbid")
    until: Annotated[Key, Field(description="id of the newest notice that was read")]


class ReadOut(BaseModel):
    marked: int = Field(description="notices that were unread until now")
    unread: int = Field(description=f"notices still unread, at most {inbox.MOST_COUNTED}")


def user_of(who: Viewer) -> UserId:
    """The caller's user; ``Known`` has refused strangers."""
    assert who.user_id is not None
    return who.user_id


@router.get("/notices", summary="List your notices")
def list_notices(
    conn: Db,
    who: Known,
    span: Paging,
    unread: Annotated[bool, Query(description="only unread ones")] = False,
) -> Page[NoticeOut]:
    """Newest first. Leaves out notices of things that you may no longer see."""
    after = NoticeId(span.after) if span.after else None
    rows = inbox.list_notices(conn, user_of(who), after, span.limit, unread_only=unread)
    return span.page(rows, lambda row: row.id, NoticeOut.model_validate)


@router.get("/open-requests", summary="List requests that wait for your answer")
def list_own_open_requests(conn: Db, who: Known, span: Paging) -> Page[OpenRequestOut]:
    """Newest first: requests to your teams for scrims, invitations to teams, requests to merge with
    your teams, and requests to join your leagues."""
    rows = list_open_requests(conn, who, span.after, span.limit)
    return span.page(rows, lambda row: row.id, OpenRequestOut.model_validate)


@router.post("/notices/read", summary="Mark notices as read", responses=problem_responses(403, 404))
def mark_notices_read(body: NoticesRead, conn: Db, who: Writer) -> ReadOut:
    """Marks this notice and all older ones as read. Newer ones stay unread."""
    marked = inbox.mark_read(conn, user_of(who), NoticeId(body.until))
    return ReadOut(marked=marked, unread=inbox.count_unread(conn, user_of(who)))
