"""A person's channels: webhooks, chats and mail. Makes, lists, tests, switches and deletes them."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from psycopg.rows import dict_row

from egress.address import Address
from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.errors import Conflict, Invalid, LimitReached, NotFound
from ladder.ids import ChannelId, DeliveryId, UserId
from ladder.notices.kinds import Form
from ladder.people import mail_addresses

MOST_CHANNELS: Final = 10
"""Channels of one person."""
MAIL_MINUTES: Final = (15, 60, 1440)
"""Pauses between two mails that a person can choose."""
TESTS_AN_HOUR: Final = 20
"""Tests of one person, so that nobody makes this site call a stranger again and again."""
SECRET: Final = "whsec_"  # noqa: S105  the prefix of secrets
FAILURES_UNTIL_OFF: Final = 10
"""Failed calls in a row after which a channel is switched off; ``notices_finish`` counts."""
CHANNEL: Final = (
    "select c.id, c.form, c.host, c.mail_minutes, right(c.address, 4) as address_end, c.state,"
    " c.off_reason, c.failures, c.retry_at, c.created_at, d.waiting, d.last_sent_at"
    " from notice_channels c cross join lateral (select"
    "   count(*) filter (where d.state = 'waiting') as waiting,"
    "   max(d.ended_at) filter (where d.state = 'sent') as last_sent_at"
    "   from notice_deliveries d where d.channel_id = c.id) d"
)


@dataclass(frozen=True, slots=True)
class Channel:
    """Where notices of a person go. The whole address is not shown: chats' addresses are secret."""

    id: ChannelId
    form: Form
    host: str
    mail_minutes: int
    """Least minutes between two mails; other forms send at once."""
    address_end: str
    """Last four characters of the address; empty for mail, which goes to the proven address."""
    state: str
    """``on`` or ``off``."""
    off_reason: str | None
    """``owner``, ``failures`` (ten in a row) or ``gone``."""
    failures: int
    """Failed calls in a row."""
    retry_at: datetime | None
    """Not called before; None: at any time."""
    created_at: datetime
    waiting: int
    """Deliveries that wait."""
    last_sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One notice on its way to a channel."""

    id: DeliveryId
    notice_id: str | None
    """None: a test."""
    kind: str | None
    state: str
    """``waiting``, ``sent``, ``failed`` or ``dropped``."""
    attempts: int
    next_at: datetime
    deadline_at: datetime
    status: int | None
    """Status of the last answer; None: there was none."""
    problem: str | None
    excerpt: str | None
    """Start of the last answer."""
    created_at: datetime
    ended_at: datetime | None


@atomic_function
def create_channel(
    conn: Connection, user_id: UserId, form: Form, address: Address
) -> tuple[Channel, str]:
    """Makes a channel; returns it with the secret that signs its calls, empty for chats.

    The caller has checked the address. Raises Invalid for a form without an address, and Conflict
    if the person has this address already or MOST_CHANNELS channels.
    """
    if form not in (Form.WEBHOOK, Form.DISCORD, Form.SLACK):
        raise Invalid("form", f"choose webhook, discord or slack, not {form}")
    _refuse_many_channels(conn, user_id)
    row = conn.execute(
        "select 1 from notice_channels where user_id = %s and form = %s and address = %s",
        (user_id, form.value, str(address)),
    ).fetchone()
    if row is not None:
        raise Conflict("you have a channel with this address", field="address")
    secret = ""
    if form is Form.WEBHOOK:
        secret = SECRET + base64.b64encode(secrets.token_bytes(24)).decode()
    channel_id = ChannelId(ids.new_id("nch"))
    conn.execute(
        "insert into notice_channels (id, user_id, form, address, host, secret)"
        " values (%s, %s, %s, %s, %s, %s)",
        (channel_id, user_id, form.value, str(address), address.host, secret),
    )
    return get_channel(conn, user_id, channel_id), secret


@atomic_function
def create_mail_channel(conn: Connection, user_id: UserId, mail_minutes: int) -> Channel:
    """Makes the person's mail channel: one mail for all notices of ``mail_minutes``.

    If there is one already, it gets the new pause and is switched on. Raises Conflict without a
    proven address, Invalid for another number of minutes.
    """
    if mail_minutes not in MAIL_MINUTES:
        raise Invalid("mail_minutes", f"choose one of {', '.join(map(str, MAIL_MINUTES))}")
    if mail_addresses.proven_address(conn, user_id) is None:
        raise Conflict("prove your mail address first, on the page of your account", field="form")
    found = [one for one in list_channels(conn, user_id) if one.form is Form.MAIL]
    if found:
        conn.execute(
            "update notice_channels set mail_minutes = %s where id = %s",
            (mail_minutes, found[0].id),
        )
        return switch_channel(conn, user_id, found[0].id, on=True)
    _refuse_many_channels(conn, user_id)
    channel_id = ChannelId(ids.new_id("nch"))
    conn.execute(
        "insert into notice_channels (id, user_id, form, address, host, mail_minutes)"
        " values (%s, %s, %s, '', 'mail', %s)",
        (channel_id, user_id, Form.MAIL.value, mail_minutes),
    )
    return get_channel(conn, user_id, channel_id)


def _refuse_many_channels(conn: Connection, user_id: UserId) -> None:
    """Locks the person, so that channels made at once are counted in turn."""
    conn.execute("select 1 from users where id = %s for no key update", (user_id,))
    if len(list_channels(conn, user_id)) >= MOST_CHANNELS:
        raise Conflict(f"delete a channel first: you have {MOST_CHANNELS}, which is the limit")


def list_channels(conn: Connection, user_id: UserId) -> list[Channel]:
    """Returns a person's channels, oldest first."""
    return _select_channels(conn, "where c.user_id = %s order by c.id", (user_id,))


def get_channel(conn: Connection, user_id: UserId, channel_id: ChannelId) -> Channel:
    """Returns a channel of this person. Raises NotFound."""
    found = _select_channels(conn, "where c.user_id = %s and c.id = %s", (user_id, channel_id))
    if not found:
        raise NotFound.of("channel")
    return found[0]


@atomic_function
def switch_channel(
    conn: Connection, user_id: UserId, channel_id: ChannelId, *, on: bool
) -> Channel:
    """Switches a channel on or off; a repeat is no error. Raises NotFound.

    Off ends what waits as failed. On forgets earlier failures.
    """
    was = get_channel(conn, user_id, channel_id)
    if on != (was.state == "on"):
        conn.execute(
            "update notice_channels set state = %s, off_reason = %s, failures = 0,"
            " retry_at = null, has_succeeded = false where id = %s",
            ("on" if on else "off", None if on else "owner", channel_id),
        )
        conn.execute(
            "select notices_fail_waiting(%s, 'the channel was switched off')", (channel_id,)
        )
    return get_channel(conn, user_id, channel_id)


@atomic_function
def delete_channel(conn: Connection, user_id: UserId, channel_id: ChannelId) -> None:
    """Deletes a channel with its deliveries. Raises NotFound."""
    get_channel(conn, user_id, channel_id)
    conn.execute("delete from notice_channels where id = %s", (channel_id,))


@atomic_function
def send_test(conn: Connection, user_id: UserId, channel_id: ChannelId) -> Delivery:
    """Sends a test to a channel, at once; returns its delivery, which says how it went.

    Raises NotFound, Conflict if the channel is off, LimitReached after TESTS_AN_HOUR.
    """
    conn.execute("select 1 from users where id = %s for no key update", (user_id,))
    if get_channel(conn, user_id, channel_id).state == "off":
        raise Conflict("switch the channel on first")
    row = conn.execute(
        "select count(*), min(d.created_at) from notice_deliveries d"
        " join notice_channels c on c.id = d.channel_id where c.user_id = %s"
        " and d.notice_id is null and d.created_at > now() - interval '1 hour'",
        (user_id,),
    ).fetchone()
    assert row is not None
    if row[0] >= TESTS_AN_HOUR:
        raise LimitReached(
            "tests of channels an hour", row[0], TESTS_AN_HOUR, row[1] + timedelta(hours=1)
        )
    delivery_id = ids.new_id("ndl")
    conn.execute(
        "insert into notice_deliveries (id, channel_id, next_at, deadline_at)"
        " values (%s, %s, now(), now() + interval '10 minutes')",
        (delivery_id, channel_id),
    )
    conn.execute(
        "update notice_channels set retry_at = null where id = %s", (channel_id,)
    )  # the person waits for the answer
    conn.execute("select pg_notify('peck_work', '')")
    return _select_deliveries(conn, "where d.id = %s", (delivery_id,))[0]


def list_deliveries(
    conn: Connection,
    user_id: UserId,
    channel_id: ChannelId,
    after: DeliveryId | None = None,
    limit: int = 50,
) -> list[Delivery]:
    """Returns deliveries of a channel of this person, newest first. Raises NotFound."""
    get_channel(conn, user_id, channel_id)
    return _select_deliveries(
        conn,
        "where d.channel_id = %s and (%s::text is null or d.id < %s) order by d.id desc limit %s",
        (channel_id, after, after, limit),
    )


def _select_channels(conn: Connection, tail: str, values: tuple[Any, ...]) -> list[Channel]:
    with conn.cursor(row_factory=dict_row) as cur:
        return [
            Channel(**{**row, "form": Form(row["form"])})
            for row in cur.execute(f"{CHANNEL} {tail}", values)
        ]


def _select_deliveries(conn: Connection, tail: str, values: tuple[Any, ...]) -> list[Delivery]:
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            "select d.id, d.notice_id, n.kind, d.state, d.attempts, d.next_at, d.deadline_at,"  # noqa: S608
            " d.status, d.problem, d.excerpt, d.created_at, d.ended_at from notice_deliveries d"
            f" left join notices n on n.id = d.notice_id {tail}",
            values,
        )
        return [Delivery(**row) for row in rows]
