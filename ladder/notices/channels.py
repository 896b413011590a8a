"""A person's channels, which are webhooks, chats and mail, and the choice of what goes there."""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from egress import guarded_connections
from egress.address import Address, AddressError, parse
from egress.guarded_connections import Forbidden, Rules
from ladder import ids
from ladder.database.db import Connection, atomic_function, exists, fetch, fetch_one, update
from ladder.errors import Conflict, Invalid, LimitReached, NotFound
from ladder.field_types import RECORD, RequestModel, ShownOnce
from ladder.ids import ChannelId, DeliveryId, UserId
from ladder.notices.kinds import KINDS, Form, Topic
from ladder.people import recovery
from ladder.settings import Settings

MOST_CHANNELS: Final = 10
"""Channels of one person."""
TESTS_AN_HOUR: Final = 20
"""Tests of one person, so that nobody makes this site call a stranger again and again."""
SECRET: Final = "whsec_"  # noqa: S105  the prefix of secrets
FAILURES_UNTIL_OFF: Final = 10
"""Failed calls in a row after which a channel is switched off; ``notices_finish`` counts."""
DNS_SECONDS: Final = 3.0
"""Longest wait for DNS. An address whose DNS is late is saved, because each call checks it."""
CHANNEL: Final = """
    select c.id, c.form, c.host, right(c.address, 4) as address_end, c.mail_minutes, c.state,
           c.off_reason, c.failures, c.retry_at, c.created_at, d.waiting, d.last_sent_at
      from notice_channels c
     cross join lateral (
           select count(*) filter (where d.state = 'waiting') as waiting,
                  max(d.ended_at) filter (where d.state = 'sent') as last_sent_at
             from notice_deliveries d
            where d.channel_id = c.id) d
"""
DELIVERY: Final = """
    select d.id, d.notice_id, n.kind, d.state, d.attempts, d.next_at, d.deadline_at, d.status,
           d.problem, d.excerpt, d.created_at, d.ended_at
      from notice_deliveries d
      left join notices n on n.id = d.notice_id
"""


@dataclass(frozen=True, slots=True)
class Channel:
    """Where notices go. The whole address is not shown, because addresses of chats are secret."""

    __pydantic_config__ = RECORD
    id: Annotated[ChannelId, Field(examples=["nch_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    form: Form
    host: Annotated[str, Field(examples=["hooks.example.org"])]
    address_end: str
    """Last four characters of the address; empty for mail."""
    mail_minutes: int
    """Least minutes between two mails."""
    state: Annotated[str, Field(examples=["on"])]
    off_reason: str | None
    """`owner`, `failures` (ten in a row) or `gone` (status 410)."""
    failures: int
    """Failed calls in a row."""
    retry_at: datetime | None
    """Not called before; null: at any time."""
    created_at: datetime
    waiting: int
    """Deliveries that wait."""
    last_sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class MadeChannel(Channel):
    """A new channel with its secret."""

    __pydantic_config__ = RECORD
    secret: Annotated[ShownOnce | None, Field(examples=["whsec_..."])]
    """Signs the calls of a webhook. It is shown only once: null for chats and if the request is
    repeated."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One notice on its way. Its id is the header `webhook-id` of every attempt."""

    __pydantic_config__ = RECORD
    id: Annotated[DeliveryId, Field(examples=["ndl_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    notice_id: str | None
    """Null: a test."""
    kind: str | None
    state: str
    """`waiting`, `sent`, `failed` or `dropped`."""
    attempts: int
    next_at: datetime
    deadline_at: datetime
    status: int | None
    """Status of the last answer; null: there was none."""
    problem: str | None
    excerpt: str | None
    """Start of the last answer."""
    created_at: datetime
    ended_at: datetime | None


class NewChannel(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"form": "webhook", "address": "https://hooks.example.org/ladder"}]
        }
    )
    form: Literal[Form.WEBHOOK, Form.DISCORD, Form.SLACK, Form.MAIL] = Form.WEBHOOK
    address: Annotated[str, Field(max_length=500)] = ""
    """Empty for mail, which goes to your proven address."""
    mail_minutes: Literal[15, 60, 1440] = 60
    """One mail for all notices of this time."""


class ChannelChange(RequestModel):
    state: Literal["on", "off"]


class Level(StrEnum):
    """Which notices of a topic a form sends."""

    OFF = "off"
    USUAL = "usual"
    """Those that this form sends until a person chooses."""
    ALL = "all"


@dataclass(frozen=True, slots=True)
class TopicLevels:
    """A topic of notices, and what each form sends of it."""

    topic: Topic
    forms: Mapping[Form, Level]


class LevelChoice(RequestModel):
    topic: Topic
    form: Form
    level: Level


class LevelChoices(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"choices": [{"topic": "agents", "form": "webhook", "level": "off"}]}]
        }
    )
    choices: Annotated[list[LevelChoice], Field(max_length=200)]


def egress_rules(settings: Settings) -> Rules:
    """Returns the operator's rules for calls out. Raises ValueError, which names the variable."""
    return Rules.from_environment(
        {
            "PECK_EGRESS_ALLOW": settings.egress_allow,
            "PECK_EGRESS_DENY": settings.egress_deny,
            "PECK_EGRESS_PORTS": settings.egress_ports,
        }
    )


def check_address(url: str, rules: Rules) -> Address:
    """Parses the address of a channel and asks the guard about it, as each call does again.

    Waits for DNS, so call it outside transactions. Raises Invalid with the remedy.
    """
    try:
        address = parse(url.strip())
        guarded_connections.refuse_forbidden_address(address, rules, time.monotonic() + DNS_SECONDS)
    except AddressError as error:
        raise Invalid("address", error.message) from None
    except TimeoutError:
        pass
    except (Forbidden, OSError) as error:
        raise Invalid("address", str(error)) from None
    return address


def make_channel(
    conn: Connection, user_id: UserId, address: Address | None, channel: NewChannel
) -> MadeChannel:
    """Makes the channel and sends a test to it.

    The caller has checked the address; None for mail.
    """
    if address is None:
        channel_id, secret = create_mail_channel(conn, user_id, channel.mail_minutes).id, ""
    else:
        new, secret = create_channel(conn, user_id, channel.form, address)
        channel_id = new.id
    send_test(conn, user_id, channel_id)
    return MadeChannel(**asdict(get_channel(conn, user_id, channel_id)), secret=secret or None)


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
    query = "select 1 from notice_channels where user_id = %s and form = %s and address = %s"
    if exists(conn, query, (user_id, form.value, str(address))):
        raise Conflict("you have a channel with this address", field="address")
    secret = ""
    if form is Form.WEBHOOK:
        secret = SECRET + base64.b64encode(secrets.token_bytes(24)).decode()
    channel_id = ChannelId(ids.new_id("nch"))
    query = """insert into notice_channels (id, user_id, form, address, host, secret)
        values (%s, %s, %s, %s, %s, %s)"""
    conn.execute(query, (channel_id, user_id, form.value, str(address), address.host, secret))
    return get_channel(conn, user_id, channel_id), secret


@atomic_function
def create_mail_channel(conn: Connection, user_id: UserId, mail_minutes: int) -> Channel:
    """Makes the person's mail channel: one mail for all notices of ``mail_minutes``.

    If there is one already, it gets the new pause and is switched on. Raises Conflict without a
    proven address.
    """
    if recovery.proven_address(conn, user_id) is None:
        raise Conflict("prove your mail address first, on the page of your account", field="form")
    present = [channel for channel in list_channels(conn, user_id) if channel.form is Form.MAIL]
    if present:
        update(conn, "notice_channels", {"id": present[0].id}, mail_minutes=mail_minutes)
        return switch_channel(conn, user_id, present[0].id, on=True)
    _refuse_many_channels(conn, user_id)
    channel_id = ChannelId(ids.new_id("nch"))
    query = """insert into notice_channels (id, user_id, form, address, host, mail_minutes)
        values (%s, %s, %s, '', 'mail', %s)"""
    conn.execute(query, (channel_id, user_id, Form.MAIL.value, mail_minutes))
    return get_channel(conn, user_id, channel_id)


def _refuse_many_channels(conn: Connection, user_id: UserId) -> None:
    """Locks the person, so that channels made at once are counted in turn."""
    conn.execute("select 1 from users where id = %s for no key update", (user_id,))
    if len(list_channels(conn, user_id)) >= MOST_CHANNELS:
        raise Conflict(f"delete a channel first: you have {MOST_CHANNELS}, which is the limit")


def list_channels(conn: Connection, user_id: UserId) -> list[Channel]:
    """Returns a person's channels, oldest first."""
    return fetch(conn, Channel, f"{CHANNEL} where c.user_id = %s order by c.id", (user_id,))


def get_channel(conn: Connection, user_id: UserId, channel_id: ChannelId) -> Channel:
    """Returns a channel of this person. Raises NotFound."""
    query = f"{CHANNEL} where c.user_id = %s and c.id = %s"
    return fetch_one(conn, Channel, query, (user_id, channel_id), NotFound.of("channel"))


@atomic_function
def switch_channel(
    conn: Connection, user_id: UserId, channel_id: ChannelId, *, on: bool
) -> Channel:
    """Switches a channel on or off; a repeat is no error. Raises NotFound.

    Off ends what waits as failed. On forgets earlier failures.
    """
    was = get_channel(conn, user_id, channel_id)
    if on != (was.state == "on"):
        query = """update notice_channels
            set state = %s, off_reason = %s, failures = 0, retry_at = null, has_succeeded = false
            where id = %s"""
        conn.execute(query, ("on" if on else "off", None if on else "owner", channel_id))
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
    query = """select count(*), min(d.created_at) from notice_deliveries d
        join notice_channels c on c.id = d.channel_id
        where c.user_id = %(user_id)s and d.notice_id is null
          and d.created_at > now() - interval '1 hour'"""
    tests, first_at = fetch_one(conn, tuple[int, datetime], query, {"user_id": user_id})
    if tests >= TESTS_AN_HOUR:
        again_at = first_at + timedelta(hours=1)
        raise LimitReached("tests of channels an hour", tests, TESTS_AN_HOUR, again_at)
    delivery_id = ids.new_id("ndl")
    query = """insert into notice_deliveries (id, channel_id, next_at, deadline_at)
        values (%(delivery_id)s, %(channel_id)s, now(), now() + interval '10 minutes')"""
    conn.execute(query, {"delivery_id": delivery_id, "channel_id": channel_id})
    update(
        conn, "notice_channels", {"id": channel_id}, retry_at=None
    )  # the person waits for the answer
    conn.execute("select pg_notify('peck_work', '')")
    return fetch_one(conn, Delivery, f"{DELIVERY} where d.id = %s", (delivery_id,))


def list_deliveries(
    conn: Connection,
    user_id: UserId,
    channel_id: ChannelId,
    after: DeliveryId | None = None,
    limit: int = 50,
) -> list[Delivery]:
    """Returns deliveries of a channel of this person, newest first. Raises NotFound."""
    get_channel(conn, user_id, channel_id)
    query = f"""{DELIVERY}
        where d.channel_id = %(channel)s and (%(after)s::text is null or d.id < %(after)s)
        order by d.id desc limit %(limit)s"""
    return fetch(conn, Delivery, query, {"channel": channel_id, "after": after, "limit": limit})


def list_levels(conn: Connection, user_id: UserId) -> list[TopicLevels]:
    """Returns all topics in their order, with the person's choices."""
    query = "select topic, form, is_on from notice_preferences where user_id = %(user)s"
    chosen = {
        (topic, form): Level.ALL if is_on else Level.OFF
        for topic, form, is_on in conn.execute(query, {"user": user_id})
    }
    return [
        TopicLevels(topic, {form: chosen.get((topic, form), Level.USUAL) for form in Form})
        for topic in KINDS
    ]


@atomic_function
def set_levels(conn: Connection, user_id: UserId, choices: Sequence[LevelChoice]) -> None:
    """Stores choices. Other topics and forms stay."""
    for choice in choices:
        values = {
            "user": user_id,
            "topic": choice.topic,
            "form": choice.form,
            "is_on": choice.level is Level.ALL,
        }
        if choice.level is Level.USUAL:
            query = """
                delete from notice_preferences
                where user_id = %(user)s and topic = %(topic)s and form = %(form)s
                """
        else:
            query = """
                insert into notice_preferences (user_id, topic, form, is_on)
                values (%(user)s, %(topic)s, %(form)s, %(is_on)s)
                on conflict (user_id, topic, form) do update set is_on = excluded.is_on
                """
        conn.execute(query, values)
