"""The pages on which a person chooses where notices go, and sees how deliveries went."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Form, Query, Request, Response

from ladder.database.db import Connection
from ladder.errors import Invalid, LadderError
from ladder.field_types import KEY
from ladder.ids import ChannelId, DeliveryId, NoticeFeedId
from ladder.notices import channels, feeds, kinds, preferences
from ladder.notices.channels import FAILURES_UNTIL_OFF
from ladder.notices.kinds import NoticeKind
from ladder.people import sessions
from ladder.people.records import Viewer
from services.http import auth, notice_channels
from services.http.app_state import AppState, Db, transaction
from services.http.attempt_limits import Limits
from services.http.path_parameters import ChannelKey, FeedKey
from services.web import forms, session
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PAGE: Final = "/me/notices/settings"
TO_SIGN_IN: Final = f"/sign-in?next={PAGE}"
FIELDS: Final = {"form": "webhook", "address": "", "mail_minutes": "60"}
PAUSES: Final = (("15", "every 15 minutes"), ("60", "every hour"), ("1440", "every day"))
MAIL: Final = ("mail", "Mail, several notices in one")
DELIVERIES_SHOWN: Final = 30
FORMS: Final = (
    ("webhook", "Signed webhook"),
    ("discord", "Discord"),
    ("slack", "Slack, or a chat that takes its format"),
)
KIND_WORDS: Final = {
    NoticeKind.HOST_DIGEST: "News for hosts, gathered for ten minutes",
    NoticeKind.VALIDATION_PASSED: "An agent passed its validation",
    NoticeKind.VALIDATION_FAILED: "An agent failed its validation",
    NoticeKind.AGENT_PAUSED: "A remote agent is paused",
    NoticeKind.AGENT_RESUMED: "A paused agent plays again",
    NoticeKind.AGENT_RETIRED: "An agent is retired by the site",
    NoticeKind.AGENT_DISQUALIFIED: "A host disqualifies your agent",
    NoticeKind.AGENT_REINSTATED: "A host undoes a disqualification of your agent",
    NoticeKind.FAULTS_IN_ROW: "An agent made a fault in five rated matches in a row",
    NoticeKind.SCRIM_FINISHED: "A scrim is over",
    NoticeKind.SCRIM_ASKED: "Another team asks for a scrim",
    NoticeKind.SCRIM_ACCEPTED: "Another team accepts your scrim",
    NoticeKind.SCRIM_DECLINED: "Another team declines your scrim",
    NoticeKind.SCRIM_WITHDRAWN: "Another team withdraws a scrim",
    NoticeKind.SCRIM_EXPIRED: "Your request for a scrim expires",
    NoticeKind.BATCH_FINISHED: "A batch of scrims is over",
    NoticeKind.COMPARISON_FINISHED: "A comparison of two versions is over",
    NoticeKind.MEDAL_LIKELY: "A medal is likely",
    NoticeKind.MEDAL_SEALED: "A medal is sealed",
    NoticeKind.MEDAL_AWARDED: "A medal is won",
    NoticeKind.MEDAL_LOST: "A medal is lost",
    NoticeKind.SEASON_OPENED: "A season opens",
    NoticeKind.SEASON_LOCKED: "Uploads end",
    NoticeKind.SEASON_FINISHED: "A season is finished",
    NoticeKind.JOIN_APPROVED: "You may join a league",
    NoticeKind.JOIN_DECLINED: "You may not join a league",
    NoticeKind.JOIN_EXPIRED: "Your request to join a league expires",
    NoticeKind.TOURNAMENT_OPENED: "A tournament takes entries",
    NoticeKind.TOURNAMENT_PAIRING: "Your agent is paired in a tournament",
    NoticeKind.TOURNAMENT_RESULT: "A result of your agent in a tournament is public",
    NoticeKind.TOURNAMENT_PLACE: "Your agent's place in a tournament",
    NoticeKind.CHANNEL_OFF: "A channel is switched off",
    NoticeKind.MACHINE_QUARANTINED: "A machine is in quarantine",
    NoticeKind.TEAM_INVITED: "A team invites you",
    NoticeKind.TEAM_JOINED: "Somebody joined your team",
}


@router.get(PAGE)
def show_settings(request: Request, conn: Db, who: Visitor) -> Response:
    """Shows channels and which notices go where."""
    return settings_page(request, conn, who, forms.Form(dict(FIELDS)))


def settings_page(
    request: Request, conn: Connection, who: Viewer, form: forms.Form, feed_address: str = ""
) -> Response:
    """The page. Shows a refused address beside its field, and a new feed's address once."""
    if who.user_id is None:
        return redirect(TO_SIGN_IN)
    found = channels.list_channels(conn, who.user_id)
    used = [kinds.Form.PAGE, *dict.fromkeys(one.form for one in found)]
    return render(
        request,
        "notice_settings.html",
        status=422 if form.wrong else 200,
        form=form,
        channels=found,
        forms=(*FORMS, MAIL) if request.app.state.peck.mailer else FORMS,
        pauses=PAUSES,
        columns=used,
        rows=preferences.list_preferences(conn, who.user_id),
        kind_words=KIND_WORDS,
        feeds=feeds.list_feeds(conn, who.user_id),
        feed_address=feed_address,
    )


@router.post("/me/notices/feeds")
def create_feed(
    request: Request, conn: Db, app_state: AppState, who: Visitor, given: forms.Sent
) -> Response:
    """Makes a private Atom feed of all notices, and shows its address once."""
    if who.user_id is None:
        return redirect(TO_SIGN_IN)
    sessions.require_full_session(conn, who, request.state.session_id)
    _, secret = feeds.create_feed(conn, who.user_id)
    address = f"{app_state.settings.base_url.rstrip('/')}/feeds/{secret}.atom"
    return settings_page(request, conn, who, forms.Form(dict(FIELDS)), address)


@router.post("/me/notices/feeds/{feed}/revoke")
def revoke_feed(feed: FeedKey, conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Ends a private feed."""
    if who.user_id is None:
        return redirect(TO_SIGN_IN)
    auth.check_scopes(who, ["agents:write"])
    feeds.revoke_feed(conn, who.user_id, NoticeFeedId(feed))
    return redirect(f"{PAGE}#feeds")


@router.post("/me/notices/preferences")
def change_preferences(conn: Db, who: Visitor, given: forms.Sent) -> Response:
    """Stores the table: each shown box that is not ticked is off."""
    if who.user_id is None:
        return redirect(TO_SIGN_IN)
    auth.check_scopes(who, ["agents:write"])
    ticked = {str(each) for each in given.getlist("on")}
    shown = {str(each) for each in given.getlist("column")}
    chosen = {
        (row.kind, form): f"{row.kind}.{form}" in ticked
        for row in preferences.list_preferences(conn, who.user_id)
        for form in kinds.Form
        if form in shown
    }
    preferences.set_preferences(conn, who.user_id, chosen)
    return redirect(f"{PAGE}#choices")


@router.post("/me/notices/channels")
def create_channel(request: Request, app_state: AppState, given: forms.Sent) -> Response:
    """Makes a channel, sends a test, and shows the secret of a webhook once."""
    form = forms.Form.of(given, FIELDS)
    with transaction(app_state) as conn:
        who = session.visitor_of_request(request, conn)
        if who.user_id is None:
            return redirect(TO_SIGN_IN)
        sessions.require_full_session(conn, who, request.state.session_id)
    try:
        if form.values["form"] not in dict((*FORMS, MAIL)):
            raise Invalid("form", "choose one of the forms")
        if form.values["mail_minutes"] not in dict(PAUSES):
            raise Invalid("mail_minutes", "choose one of the pauses")
        chosen = kinds.Form(form.values["form"])
        address = notice_channels.check_channel(app_state, who, chosen, form.values["address"])
        minutes = int(form.values["mail_minutes"])
        with transaction(app_state) as conn:
            made, secret = notice_channels.make_channel(conn, who.user_id, chosen, address, minutes)
    except LadderError as error:
        form.add_errors(error)
        with transaction(app_state) as conn:
            return settings_page(request, conn, who, form)
    if not secret:
        return redirect(f"/me/notices/channels/{made.id}")
    with transaction(app_state) as conn:
        return channel_page(request, conn, who, made.id, secret=secret)


@router.get("/me/notices/channels/{channel}")
def show_channel(
    request: Request,
    channel: ChannelKey,
    conn: Db,
    who: Visitor,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows a channel and how its deliveries went."""
    return channel_page(request, conn, who, ChannelId(channel), after=after)


def channel_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    channel_id: ChannelId,
    *,
    after: str | None = None,
    secret: str = "",
) -> Response:
    if who.user_id is None:
        return redirect(TO_SIGN_IN)
    found = channels.list_deliveries(
        conn, who.user_id, channel_id, DeliveryId(after) if after else None, DELIVERIES_SHOWN
    )
    return render(
        request,
        "notice_channel.html",
        channel=channels.get_channel(conn, who.user_id, channel_id),
        deliveries=found,
        older=found[-1].id if len(found) == DELIVERIES_SHOWN else None,
        secret=secret,
        kind_words=KIND_WORDS,
        most_failures=FAILURES_UNTIL_OFF,
    )


@router.post("/me/notices/channels/{channel}")
def change_channel(
    request: Request,
    channel: ChannelKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    act: Annotated[Literal["test", "on", "off", "delete"], Form()],
    form_token: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Tests, switches or deletes a channel."""
    session.check_form(request, form_token)
    if who.user_id is None:
        return redirect(TO_SIGN_IN)
    auth.check_scopes(who, ["agents:write"])
    channel_id = ChannelId(channel)
    if act == "delete":
        channels.delete_channel(conn, who.user_id, channel_id)
        return redirect(PAGE)
    if act == "test":
        app_state.attempts.count_of_person(who.user_id, Limits.CHANNEL)
        channels.send_test(conn, who.user_id, channel_id)
    else:
        channels.switch_channel(conn, who.user_id, channel_id, on=act == "on")
    return redirect(f"/me/notices/channels/{channel}")
