"""The feed of your notices and results: pages, and a stream of new items.

The stream reads the database after a notification, and every few seconds without one. Streams use
their own connections, so pages never wait for streams. A stream ends after some minutes; the reader
reconnects with Last-Event-ID. A result rated too late for the stream appears in the pages alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Final

import psycopg
import psycopg_pool
from fastapi import APIRouter, Header
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from ladder.database.db import Connection
from ladder.people import users
from ladder.reports import feed
from ladder.reports.feed import FeedItem
from services.http.app_state import AppState, Db, State, read_rows
from services.http.auth import Credentials, Known
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.problems import ProblemError

router = APIRouter(prefix="/v1", tags=["users"], route_class=LazyRoute)
LOOK_SECONDS: Final = 1.0
QUIET_LOOK_SECONDS: Final = 5.0
"""Seconds between two reads without a notification."""
NEWS_SECONDS: Final = feed.SETTLE_SECONDS + 2 * LOOK_SECONDS
"""Seconds between a notification and the read: by then the rows are committed."""
BEAT_SECONDS: Final = 15.0
AT_ONCE: Final = 100  # items of one read
RETRY_MS: Final = 3000
OLDEST_SECONDS: Final = 3600.0
"""A stream does not resume from an older key: it would read all items since every second. Read the
pages instead."""


ITEM: Final = TypeAdapter(FeedItem)


@router.get("/me/feed", summary="Read your feed")
def read_feed(conn: Db, who: Known, span: Paging) -> Page[FeedItem]:
    """Lists your notices, and the rated results and corrections of your teams, newest first.

    `GET /v1/me/feed/stream` sends new items as server-sent events, from `Last-Event-ID` on.
    """
    rows = feed.latest_items(conn, who, before=span.after, limit=span.limit)
    return span.page(rows, lambda row: row.key, lambda row: row)


class EventStream(StreamingResponse):
    """Server-sent events with a callback that runs when the stream ends, for any reason."""

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
    """Sends each new item: its key as id, its kind as event, its JSON as data. Older items are in
    the pages of the feed. Absent from the OpenAPI document, which describes answers that end."""
    assert who.user_id is not None
    assert credentials is not None
    start = feed.current_key(conn)
    after = last_event_id or start
    behind = feed.time_of_key(start) - feed.time_of_key(after)
    if behind.total_seconds() > OLDEST_SECONDS:
        raise ProblemError(
            "invalid",
            "Read GET /v1/me/feed down to this key and begin the stream at the key in "
            f"begin_at: this key is older than {OLDEST_SECONDS / 60:.0f} minutes.",
            where="Last-Event-ID",
            begin_at=start,
        )
    user_id, token = who.user_id, credentials.credentials
    until = app_state.streams.register_stream(user_id)
    return EventStream(
        feed_events(app_state, token, after, until),
        lambda: app_state.streams.unregister_stream(user_id, until),
    )


async def feed_events(app_state: State, token: str, after: str, until: float) -> AsyncIterator[str]:
    """Yields items newer than ``after``. Ends at ``until``, when the token is revoked, or when the
    database or this process ends. Without events it sends new ids alone, so that a reader can
    resume after a quiet day."""
    yield f"retry: {RETRY_MS}\nid: {after}\n\n"
    sent_at, looked = time.monotonic(), -math.inf
    while time.monotonic() < until and not app_state.ending.has_begun:
        quiet = app_state.listener.quiet_seconds() > NEWS_SECONDS
        if quiet and time.monotonic() - looked < QUIET_LOOK_SECONDS:
            await app_state.ending.pause(LOOK_SECONDS)
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
            data = ITEM.dump_json(item).decode()
            yield f"id: {item.key}\nevent: {item.kind}\ndata: {data}\n\n"
        if time.monotonic() - sent_at > BEAT_SECONDS:
            after, sent_at = reached, time.monotonic()
            yield f"id: {after}\n: still here\n\n"
        await app_state.ending.pause(LOOK_SECONDS)


def new_items(app_state: State, token: str, after: str) -> tuple[list[FeedItem], str] | None:
    """The new items for the token's owner, and the last key they cover. None if the token is no
    longer valid."""

    def look(conn: Connection) -> tuple[list[FeedItem], str] | None:
        who = users.viewer_of_token(conn, token)
        if who is None:
            return None
        reached = max(feed.current_key(conn), after)
        items = feed.items_after(conn, who, after, AT_ONCE)
        return items, items[-1].key if items else reached

    return read_rows(app_state.news, look)
