"""The feed of what happened to own teams: pages of it, and a stream of what is new.

The stream reads the rows when a notification says that there may be news (``listening``), and every
some seconds without one. It has connections of its own, so that pages never wait for streams. It
ends by itself after some minutes, so that no server waits for it for ever; a reader comes back with
Last-Event-ID. What took longer than some seconds to be rated is in the pages alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Annotated, Final

import anyio
import psycopg
import psycopg_pool
from fastapi import APIRouter, Header
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from ladder.database.db import Connection
from ladder.leagues.medals import Medal
from ladder.people import users
from ladder.reports import feed
from ladder.reports.feed import FeedItemKind
from services.http.app_state import AppState, Db, State, read_rows
from services.http.auth import Credentials, Known
from services.http.paging import Page, Paging
from services.http.problems import ProblemError

router = APIRouter(prefix="/v1", tags=["users"])
LOOK_SECONDS: Final = 1.0
QUIET_LOOK_SECONDS: Final = 5.0
"""Between two looks while no notification comes."""
NEWS_SECONDS: Final = feed.SETTLE_SECONDS + 2 * LOOK_SECONDS
"""After a notification: its rows settle, and the look that finds them is done."""
BEAT_SECONDS: Final = 15.0
AT_ONCE: Final = 100  # items of one look
RETRY_MS: Final = 3000
OLDEST_SECONDS: Final = 3600.0
"""What lies between an older key and now is read in pages: a stream would look through all of it
every second."""


class ItemOut(BaseModel):
    """Something that happened to one's teams."""

    model_config = ConfigDict(from_attributes=True)
    key: str = Field(description="sorts by time; what a stream resumes from")
    kind: FeedItemKind
    at: datetime
    league_id: str
    league: str
    entry_id: str | None
    agent_id: str | None
    agent_name: str | None
    match_id: str | None = Field(description="of a validation or a rated match")
    scrim_id: str | None
    reason: str | None = Field(description="why a validation was failed")
    placement: int | None
    seats: int | None
    verdict: str | None
    mu_before: float | None = Field(description="the live rating, before it was counted")
    mu_after: float | None
    finished_games: int | None = Field(description="of a scrim")
    games: int | None
    team_name: str | None = Field(description="whose medal was sealed, taken back or awarded")
    medal: Medal | None
    chance: float | None = Field(description="of this medal or a better one")


@router.get("/me/feed", summary="Read what happened to own agents")
def read_feed(conn: Db, who: Known, span: Paging) -> Page[ItemOut]:
    """Validations, rated results, corrections, scrims and medals of one's teams, newest first.

    `GET /v1/me/feed/stream` sends what is new as server-sent events, from `Last-Event-ID` on.
    """
    rows = feed.latest_items(conn, who, before=span.after, limit=span.limit)
    return span.page(rows, lambda row: row.key, ItemOut.model_validate)


class EventStream(StreamingResponse):
    """Server-sent events, and what is to be done when they end, however they end."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterator[str], ended: Callable[[], None]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(content, headers=headers)
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()


@router.get("/me/feed/stream", include_in_schema=False)
def stream_feed(
    conn: Db,
    who: Known,
    credentials: Credentials,
    app_state: AppState,
    last_event_id: Annotated[str | None, Header(pattern=f"^{feed.KEY.pattern}$")] = None,
) -> EventStream:
    """The key as id, the kind as event, the item as data; what came before is in the pages of the
    feed. Not in the OpenAPI document, whose answers come to an end by themselves."""
    assert who.user_id is not None
    assert credentials is not None
    start = feed.current_key(conn)
    after = last_event_id or start
    behind = feed.time_of_key(start) - feed.time_of_key(after)
    if behind.total_seconds() > OLDEST_SECONDS:
        raise ProblemError(
            "invalid",
            f"this key is older than {OLDEST_SECONDS / 60:.0f} minutes. Read GET "
            "/v1/me/feed down to it, and begin the stream at the key in begin_at.",
            where="Last-Event-ID",
            begin_at=start,
        )
    user_id, token = who.user_id, credentials.credentials
    until = app_state.streams.enter(user_id)
    return EventStream(
        feed_events(app_state, token, after, until), lambda: app_state.streams.leave(user_id, until)
    )


async def feed_events(app_state: State, token: str, after: str, until: float) -> AsyncIterator[str]:
    """Items newer than ``after`` as they come; ends at ``until``, when the token is revoked, and
    when the database is away. Where nothing happens the id moves on alone, so that who comes back
    after a quiet day is not sent to the pages."""
    yield f"retry: {RETRY_MS}\nid: {after}\n\n"
    sent_at, looked = time.monotonic(), -math.inf
    while time.monotonic() < until:
        quiet = app_state.listener.quiet_seconds() > NEWS_SECONDS
        if quiet and time.monotonic() - looked < QUIET_LOOK_SECONDS:
            await anyio.sleep(LOOK_SECONDS)
            continue
        looked = time.monotonic()
        try:
            found = await run_in_threadpool(new_items, app_state, token, after)
        except (psycopg.OperationalError, psycopg_pool.PoolTimeout):
            return
        if found is None:
            return
        items, reached = found
        for item in items:
            after, sent_at = item.key, time.monotonic()
            data = ItemOut.model_validate(item).model_dump_json()
            yield f"id: {item.key}\nevent: {item.kind}\ndata: {data}\n\n"
        if time.monotonic() - sent_at > BEAT_SECONDS:
            after, sent_at = reached, time.monotonic()
            yield f"id: {after}\n: still here\n\n"
        await anyio.sleep(LOOK_SECONDS)


def new_items(app_state: State, token: str, after: str) -> tuple[list[feed.FeedItem], str] | None:
    """What there is now for the person behind the token, and the key up to which that is all; None
    when the token no longer stands."""

    def look(conn: Connection) -> tuple[list[feed.FeedItem], str] | None:
        who = users.viewer_of_token(conn, token)
        if who is None:
            return None
        reached = max(feed.current_key(conn), after)
        items = feed.items_after(conn, who, after, AT_ONCE)
        return items, items[-1].key if items else reached

    return read_rows(app_state.news, look)
