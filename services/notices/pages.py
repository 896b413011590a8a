"""The pages of notices: the list, where notices go, and how deliveries went."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.errors import Invalid, LadderError
from ladder.field_types import KEY
from ladder.ids import ChannelId, DeliveryId, NoticeId
from ladder.notices import channels, inbox
from ladder.notices.channels import FAILURES_UNTIL_OFF, Level, LevelChoice, NewChannel
from ladder.notices.kinds import Form, Topic
from ladder.people import sessions
from ladder.people.records import Viewer
from ladder.reports.open_requests import list_open_requests
from services.http.app_state import AppState, Db, transaction
from services.http.attempt_limits import Limits
from services.http.auth import Known, Writer
from services.http.path_parameters import ChannelKey
from services.notices.things import checked_address, user_of
from services.web import forms, session
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SHOWN: Final = 30
DELIVERIES_SHOWN: Final = 30
PAGE: Final = "/me/notices/settings"
FIELDS: Final = {"form": "webhook", "address": "", "mail_minutes": "60"}
PAUSES: Final = (("15", "every 15 minutes"), ("60", "every hour"), ("1440", "every day"))
MAIL: Final = ("mail", "Mail, several notices in one")
FORMS: Final = (
    ("webhook", "Signed webhook"),
    ("discord", "Discord"),
    ("slack", "Slack, or a chat that takes its format"),
)
TOPICS: Final = {
    Topic.AGENTS: "My agents, their scrims and medals",
    Topic.LEAGUES: "My leagues",
    Topic.TOURNAMENTS: "My tournaments",
    Topic.TEAM: "My team, and requests for scrims",
    Topic.INSTANCE: "My channels, and this site",
}
LEVELS: Final = {
    Level.USUAL: "usual ones",
    Level.ALL: "all",
    Level.OFF: "none",
}


@router.get("/me/notices")
def show_notices(
    request: Request,
    conn: Db,
    viewer: Known,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
    requests_after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the requests that wait for the visitor's answer, then all notices, newest first.

    Older notices are shown without the requests.
    """
    waiting = [] if after else list_open_requests(conn, viewer, requests_after, SHOWN)
    notices = inbox.list_notices(conn, user_of(viewer), NoticeId(after) if after else None, SHOWN)
    return render(
        request,
        "notices/notices.html",
        waiting=waiting,
        older_requests=waiting[-1].id if len(waiting) == SHOWN else None,
        notices=notices,
        older=notices[-1].id if len(notices) == SHOWN else None,
    )


@router.post("/me/notices/read")
def mark_read(sent: forms.Sent, conn: Db, viewer: Known) -> Response:
    """Marks the newest notice that the page showed, and all older ones, as read."""
    inbox.mark_read(conn, user_of(viewer), NoticeId(forms.parse_key(sent, "until")))
    return redirect("/me/notices")


@router.get(PAGE)
def show_settings(request: Request, conn: Db, viewer: Known) -> Response:
    """Shows channels and which notices go where."""
    return settings_page(request, conn, viewer, forms.Form(dict(FIELDS)))


def settings_page(
    request: Request, conn: Connection, viewer: Viewer, form: forms.Form, feed_address: str = ""
) -> Response:
    """The page. Shows a refused address beside its field, and a new feed's address once."""
    own = channels.list_channels(conn, user_of(viewer))
    return render(
        request,
        "notices/settings.html",
        status=422 if form.wrong else 200,
        form=form,
        channels=own,
        forms=(*FORMS, MAIL) if request.app.state.peck.mailer else FORMS,
        pauses=PAUSES,
        columns=[Form.PAGE, *dict.fromkeys(channel.form for channel in own)],
        rows=channels.list_levels(conn, user_of(viewer)),
        topics=TOPICS,
        levels=LEVELS,
        feeds=inbox.list_feeds(conn, user_of(viewer)),
        feed_address=feed_address,
    )


@router.post("/me/notices/feeds")
def create_feed(
    request: Request, sent: forms.Sent, conn: Db, app_state: AppState, viewer: Known
) -> Response:
    """Makes a private Atom feed of all notices, and shows its address once."""
    sessions.require_full_session(conn, viewer, request.state.session_id)
    feed = inbox.create_feed(conn, user_of(viewer), app_state.settings.base_url)
    return settings_page(request, conn, viewer, forms.Form(dict(FIELDS)), feed.address)


@router.post("/me/notices/preferences")
def change_preferences(sent: forms.Sent, conn: Db, viewer: Writer) -> Response:
    """Stores the table: a choice for each topic and each form that it shows."""
    choices = [
        LevelChoice(topic=levels.topic, form=form, level=Level(chosen))
        for levels in channels.list_levels(conn, user_of(viewer))
        for form, level in levels.forms.items()
        if (chosen := str(sent.get(f"{levels.topic}.{form}", level))) in set(Level) - {level}
    ]
    channels.set_levels(conn, user_of(viewer), choices)
    return redirect(f"{PAGE}#choices")


@router.post("/me/notices/channels")
def create_channel(request: Request, app_state: AppState, sent: forms.Sent) -> Response:
    """Makes a channel, sends a test, and shows the secret of a webhook once."""
    form = forms.Form.of(sent, FIELDS)
    with transaction(app_state) as conn:
        viewer = session.visitor_of_request(request, conn)
        if viewer.user_id is None:
            return redirect(f"/sign-in?next={PAGE}")
        sessions.require_full_session(conn, viewer, request.state.session_id)
    try:
        minutes = form.values["mail_minutes"]
        channel = NewChannel.model_validate(
            {**form.values, "mail_minutes": int(minutes) if minutes in dict(PAUSES) else minutes}
        )
        address = checked_address(app_state, viewer, channel)
        with transaction(app_state) as conn:
            new_channel = channels.make_channel(conn, user_of(viewer), address, channel)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        with transaction(app_state) as conn:
            return settings_page(request, conn, viewer, form)
    if not new_channel.secret:
        return redirect(f"/me/notices/channels/{new_channel.id}")
    with transaction(app_state) as conn:
        return channel_page(request, conn, viewer, new_channel.id, secret=new_channel.secret)


@router.get("/me/notices/channels/{channel}")
def show_channel(
    request: Request,
    channel: ChannelKey,
    conn: Db,
    viewer: Known,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows a channel and how its deliveries went."""
    return channel_page(request, conn, viewer, ChannelId(channel), after=after)


def channel_page(
    request: Request,
    conn: Connection,
    viewer: Viewer,
    channel_id: ChannelId,
    *,
    after: str | None = None,
    secret: str = "",
) -> Response:
    deliveries = channels.list_deliveries(
        conn, user_of(viewer), channel_id, DeliveryId(after) if after else None, DELIVERIES_SHOWN
    )
    return render(
        request,
        "notices/channel.html",
        channel=channels.get_channel(conn, user_of(viewer), channel_id),
        deliveries=deliveries,
        older=deliveries[-1].id if len(deliveries) == DELIVERIES_SHOWN else None,
        secret=secret,
        most_failures=FAILURES_UNTIL_OFF,
    )


@router.post("/me/notices/channels/{channel}")
def change_channel(
    sent: forms.Sent, channel: ChannelKey, conn: Db, app_state: AppState, viewer: Writer
) -> Response:
    """Tests, switches or deletes a channel."""
    user_id, channel_id, act = user_of(viewer), ChannelId(channel), sent.get("act")
    if act not in ("test", "on", "off", "delete"):
        raise Invalid("act", "choose test, on, off or delete")
    if act == "delete":
        channels.delete_channel(conn, user_id, channel_id)
        return redirect(PAGE)
    if act == "test":
        app_state.attempts.count_of_person(user_id, Limits.CHANNEL)
        channels.send_test(conn, user_id, channel_id)
    else:
        channels.switch_channel(conn, user_id, channel_id, on=act == "on")
    return redirect(f"/me/notices/channels/{channel}")
