"""What people do with their notices: read them, choose where they go, and make private feeds."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Annotated

from fastapi import Query, Request, Response

from ladder.field_types import Key, RequestModel
from ladder.ids import ChannelId, DeliveryId, NoticeFeedId, NoticeId
from ladder.notices import channels, inbox
from ladder.notices.channels import (
    Channel,
    ChannelChange,
    Delivery,
    LevelChoices,
    MadeChannel,
    NewChannel,
    TopicLevels,
)
from ladder.notices.inbox import MadeFeed, NewFeed, PrivateFeed, ReadNotices
from ladder.notices.kinds import Notice
from ladder.reports.open_requests import OpenRequest, list_open_requests
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.attempt_limits import Limits
from services.http.auth import FullWriter, Known, Writer
from services.http.idempotency import IdempotencyKey, IdempotentRequest
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import ChannelKey, FeedKey
from services.http.problems import problem_responses
from services.notices.things import PlannedChannel, user_of

operations = Operations("notices")


class NoticesRead(RequestModel):
    until: Key
    """Id of the newest notice that was read."""


@operations("GET", "/me/notices", "List your notices", problems=())
def list_notices(
    conn: Db,
    viewer: Known,
    span: Paging,
    unread: Annotated[bool, Query(description="only unread ones")] = False,
) -> Page[Notice]:
    """Newest first. Leaves out notices of things that you may no longer see."""
    after = NoticeId(span.after) if span.after else None
    rows = inbox.list_notices(conn, user_of(viewer), after, span.limit, unread_only=unread)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations("GET", "/me/open-requests", "List requests that wait for your answer", problems=())
def list_own_open_requests(conn: Db, viewer: Known, span: Paging) -> Page[OpenRequest]:
    """Newest first: requests to your teams for scrims, invitations to teams, requests to merge with
    your teams, and requests to join your leagues."""
    rows = list_open_requests(conn, viewer, span.after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations(
    "POST",
    "/me/notices/read",
    "Mark notices as read",
    problems=(403, 404),
)
def mark_notices_read(conn: Db, viewer: Writer, read: NoticesRead) -> ReadNotices:
    """Marks this notice and all older ones as read. Newer ones stay unread."""
    marked = inbox.mark_read(conn, user_of(viewer), NoticeId(read.until))
    return ReadNotices(marked, inbox.count_unread(conn, user_of(viewer)))


@operations("GET", "/me/notices/channels", "List your channels", problems=())
def list_channels(conn: Db, viewer: Known) -> Page[Channel]:
    """Where your notices go besides your page."""
    return Page(items=channels.list_channels(conn, user_of(viewer)))


@operations.router.post(
    "/me/notices/channels",
    tags=[operations.tag],
    status_code=201,
    summary="Make a channel",
    response_model=MadeChannel,
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
    once = IdempotentRequest(conn, planned.viewer, key, request, digest)
    return once.run(
        lambda: channels.make_channel(conn, user_of(planned.viewer), planned.address, body),
        keep=lambda answer: replace(answer, secret=None),
    )


@operations(
    "PATCH",
    "/me/notices/channels/{channel}",
    "Switch a channel on or off",
    problems=(403, 404),
)
def switch_channel(channel: ChannelKey, conn: Db, viewer: Writer, change: ChannelChange) -> Channel:
    """Off ends what waits as failed. On forgets earlier failures."""
    is_on = change.state == "on"
    return channels.switch_channel(conn, user_of(viewer), ChannelId(channel), on=is_on)


@operations(
    "DELETE",
    "/me/notices/channels/{channel}",
    "Delete a channel",
    problems=(403, 404),
)
def delete_channel(channel: ChannelKey, conn: Db, viewer: Writer) -> None:
    """Deletes its deliveries too."""
    channels.delete_channel(conn, user_of(viewer), ChannelId(channel))


@operations(
    "POST",
    "/me/notices/channels/{channel}/tests",
    "Send a test",
    status=201,
    takes_key=False,
    problems=(403, 404, 409, 429),
)
def send_test(channel: ChannelKey, conn: Db, app_state: AppState, viewer: Writer) -> Delivery:
    """The delivery says how the test went; read it again after some seconds."""
    app_state.attempts.count_of_person(user_of(viewer), Limits.CHANNEL)
    return channels.send_test(conn, user_of(viewer), ChannelId(channel))


@operations(
    "GET",
    "/me/notices/channels/{channel}/deliveries",
    "List deliveries of a channel",
    problems=(404,),
)
def list_deliveries(channel: ChannelKey, conn: Db, viewer: Known, span: Paging) -> Page[Delivery]:
    """Newest first, with the reason of each failure. Ended ones are kept for 30 days."""
    after = DeliveryId(span.after) if span.after else None
    rows = channels.list_deliveries(conn, user_of(viewer), ChannelId(channel), after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations("GET", "/me/notices/preferences", "Read which notices you get", problems=())
def read_preferences(conn: Db, viewer: Known) -> list[TopicLevels]:
    """A row for each topic, with what each form sends of it."""
    return channels.list_levels(conn, user_of(viewer))


@operations("PATCH", "/me/notices/preferences", "Choose which notices you get", problems=(403,))
def change_preferences(conn: Db, viewer: Writer, body: LevelChoices) -> list[TopicLevels]:
    """Changes the named choices and keeps all others."""
    channels.set_levels(conn, user_of(viewer), body.choices)
    return channels.list_levels(conn, user_of(viewer))


@operations("GET", "/me/notices/feeds", "List your private feeds", problems=())
def list_feeds(conn: Db, viewer: Known) -> Page[PrivateFeed]:
    """Without their addresses."""
    return Page(items=inbox.list_feeds(conn, user_of(viewer)))


@operations("POST", "/me/notices/feeds", "Make a private feed", status=201)
def create_feed(conn: Db, app_state: AppState, viewer: FullWriter, feed: NewFeed) -> MadeFeed:
    """An Atom feed of your notices. Whoever knows the address reads it; revoke it to end that.
    Needs a token with all scopes that a password gives and without expiry, because a feed outlives
    the token."""
    agent = permissions.visible_agent(conn, viewer, feed.agent) if feed.agent else None
    league = permissions.visible_league(conn, viewer, feed.league) if feed.league else None
    return inbox.create_feed(
        conn,
        user_of(viewer),
        app_state.settings.base_url,
        agent_id=agent.id if agent else None,
        league_id=league.id if league else None,
    )


@operations(
    "DELETE",
    "/me/notices/feeds/{feed}",
    "Revoke a private feed",
    problems=(403, 404),
    forms=Form(address="/me/notices/feeds/{feed}/revoke", then="/me/notices/settings#feeds"),
)
def revoke_feed(feed: FeedKey, conn: Db, viewer: Writer) -> None:
    """Takes effect at once and for good."""
    inbox.revoke_feed(conn, user_of(viewer), NoticeFeedId(feed))
