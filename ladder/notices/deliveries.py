"""Deliveries: wakes the notifier, hands it one channel at a time, and makes what channels get.

Postgres holds every delivery. A message to the notifier may be lost or doubled. If a notifier dies,
its lease of the channel ends, and the delivery is sent again with the same id.

Webhooks follow https://www.standardwebhooks.com. The signature covers the delivery's id, the time
and the body, with HMAC-SHA256. So a receiver can refuse forged, old and repeated requests.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from psycopg.types.json import Jsonb

from ladder import mail
from ladder.database.db import Connection, fetch_one
from ladder.ids import ChannelId, DeliveryId
from ladder.mail import Mail, MailServer
from ladder.notices.channels import SECRET
from ladder.notices.kinds import Form, Notice
from ladder.telemetry import log_event, traceback_text

LEASE_SECONDS: Final = 20.0
"""Longer than one call; a channel is free again after this time if its notifier died. Four times
as long for a mail, which takes several steps."""
SLOW_CALLS: Final = 2
"""Calls at a time to slow or failing receivers. New ones get twice as many."""
WAKE_SECONDS: Final = 5.0
"""A wake-up message that is unanswered for this long counts as lost."""
WAKES_AT_ONCE: Final = 16
KEEP_DAYS: Final = 30
"""Age at which ended deliveries are deleted."""
KEEP_NOTICES_DAYS: Final = 90
"""Age at which notices and events are deleted."""


class Outcome(StrEnum):
    """How an attempt ended."""

    SENT = "sent"
    FAILED = "failed"
    """Counts towards switching the channel off; tried again later."""
    GONE = "gone"
    """The receiver says that the address no longer exists: the channel is switched off."""
    LIMITED = "limited"
    """The receiver asks for a pause."""
    DROPPED = "dropped"
    """Nothing is left to send, because the person may no longer see it."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The end of an attempt. Texts come from strangers: they are stored short and shown escaped."""

    state: Outcome
    seconds: float = 0.0
    status: int | None = None
    """Status of the answer, of HTTP or SMTP; None without an answer."""
    problem: str | None = None
    """Why it failed, for the channel's owner."""
    excerpt: str | None = None
    """Start of the answer."""
    wait_seconds: float | None = None
    """Pause that the receiver asks for."""


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """One notice on its way."""

    id: DeliveryId
    attempt: int
    is_test: bool
    notice: Notice | None
    """None for a test, if the person may no longer see it, and if this program cannot read it."""
    is_unreadable: bool = False
    """Whether this program cannot read the notice, for example one of a kind that it lacks."""


@dataclass(frozen=True, slots=True)
class ClaimedChannel:
    """A channel that this worker alone may call now, with what to send."""

    channel_id: ChannelId
    form: Form
    address: str
    secret: str
    deliveries: tuple[DueDelivery, ...]


def channels_to_wake(conn: Connection) -> list[ChannelId]:
    """Returns channels that are due for a wake-up message, and marks them as woken.

    Commit, then send a message for each.
    """
    rows = conn.execute("select notices_wake(%s, %s)", (WAKES_AT_ONCE, WAKE_SECONDS))
    return [ChannelId(row[0]) for row in rows]


def claim_channel(conn: Connection, worker: str) -> ClaimedChannel | None:
    """Claims the channel that waited longest. None: nothing can be sent now."""
    values = (worker, LEASE_SECONDS, SLOW_CALLS)
    claim = fetch_one(conn, dict[str, Any], "select notices_claim(%s, %s, %s)", values)
    if claim is None:
        return None
    return ClaimedChannel(
        ChannelId(claim["channel_id"]),
        Form(claim["form"]),
        claim["address"],
        claim["secret"],
        tuple(_due_delivery(delivery) for delivery in claim["deliveries"]),
    )


def _due_delivery(row: dict[str, Any]) -> DueDelivery:
    """Never raises for a notice that cannot be read: the claim must be stored, or this channel
    would be claimed first for ever."""
    notice, is_unreadable = None, False
    if row["notice"]:
        try:
            notice = Notice.of_row(row["notice"])
        except Exception as error:
            is_unreadable = True
            log_event(
                "notice_unreadable", level="error", delivery=row["id"], trace=traceback_text(error)
            )
    return DueDelivery(DeliveryId(row["id"]), row["attempt"], row["is_test"], notice, is_unreadable)


def finish_attempt(
    conn: Connection, worker: str, claimed: ClaimedChannel, result: AttemptResult
) -> bool:
    """Stores the end of an attempt and frees the channel; returns whether it was switched off.

    Changes nothing if another worker has claimed the channel meanwhile.
    """
    clean = replace(
        result, problem=_clean_text(result.problem), excerpt=_clean_text(result.excerpt)
    )
    columns = {name: value for name, value in asdict(clean).items() if value is not None}
    deliveries = [delivery.id for delivery in claimed.deliveries]
    return fetch_one(
        conn,
        bool,
        "select notices_finish(%s, %s, %s, %s)",
        (claimed.channel_id, worker, deliveries, Jsonb(columns)),
    )


def expire_deliveries(conn: Connection) -> int:
    """Ends deliveries past their deadline as failed; returns how many. The scheduler calls this."""
    query = """update notice_deliveries d
        set state = 'failed', ended_at = now(),
          problem = coalesce(problem, 'it was not sent before its deadline')
        from notice_channels c
        where c.id = d.channel_id and d.state = 'waiting' and d.deadline_at <= now()
          and coalesce(c.lease_until <= now(), true)"""
    return conn.execute(query).rowcount


def delete_old(conn: Connection) -> int:
    """Deletes old deliveries, notices and events; returns how many notices went."""
    conn.execute(
        "delete from notice_deliveries where ended_at < now() - make_interval(days => %s)",
        (KEEP_DAYS,),
    )
    query = """delete from notices n
        where n.created_at < now() - make_interval(days => %(keep_notices_days)s)
          and not exists (
            select 1 from notice_deliveries d where d.notice_id = n.id and d.state = 'waiting')"""
    gone = conn.execute(query, {"keep_notices_days": KEEP_NOTICES_DAYS}).rowcount
    query = """delete from notice_events e
        where e.created_at < now() - make_interval(days => %(keep_notices_days)s)
          and not exists (select 1 from notices n where n.event_id = e.id)"""
    conn.execute(query, {"keep_notices_days": KEEP_NOTICES_DAYS})
    return gone


def _clean_text(text: str | None) -> str | None:
    """At most 500 characters without control characters, which a terminal would obey."""
    if text is None:
        return None
    return "".join(char if char.isprintable() else " " for char in text[:500])


MOST_CHAT_CHARACTERS: Final = 450
"""Characters of a title or text. Discord takes 2,000 in all; an escaped one may take two."""
MARKDOWN: Final = re.compile(r"([\\*_`~|<>\[\]()#:@-])")
TEST_TITLE: Final = "A test"
TEST_TEXT: Final = "This channel works."
SETTINGS: Final = "/me/notices/settings"
MOST_SUBJECT_CHARACTERS: Final = 120


@dataclass(frozen=True, slots=True)
class Request:
    """Body and headers of a POST."""

    body: bytes
    headers: Mapping[str, str]


def make_request(claimed: ClaimedChannel, base_url: str, at: datetime) -> Request:
    """The request for the first delivery of a channel. ``at`` is the time of this attempt."""
    due = claimed.deliveries[0]
    make = {Form.WEBHOOK: _webhook, Form.DISCORD: _discord, Form.SLACK: _slack}[claimed.form]
    body = json.dumps(make(due, base_url), ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json"}
    if claimed.secret:
        moment = str(int(at.timestamp()))
        headers |= {
            "webhook-id": due.id,
            "webhook-timestamp": moment,
            "webhook-signature": sign(claimed.secret, due.id, moment, body),
        }
    return Request(body, headers)


def sign(secret: str, delivery_id: str, timestamp: str, body: bytes) -> str:
    """The value of the header ``webhook-signature``."""
    key = base64.b64decode(secret.removeprefix(SECRET))
    signed = f"{delivery_id}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def words_of_delivery(due: DueDelivery, base_url: str) -> tuple[str, str, str]:
    """Title, text and address of a page; a test has its own words."""
    if due.notice is None:
        return TEST_TITLE, TEST_TEXT, base_url + SETTINGS
    return due.notice.title, due.notice.text, base_url + due.notice.path


def build_digest(server: MailServer, claimed: ClaimedChannel, base_url: str) -> Mail:
    """Builds one mail of all deliveries that are tests or still have a notice. Raises Invalid.

    Names that people typed are in the subject and the text, without control characters.
    """
    shown = [
        words_of_delivery(due, base_url)
        for due in claimed.deliveries
        if due.notice is not None or due.is_test
    ]
    subject = shown[0][0] if len(shown) == 1 else f"{len(shown)} notices"
    parts = ["\n".join(_printable(line) for line in words) for words in shown]
    foot = f"-- \nChoose what you get by mail: {base_url}{SETTINGS}"
    return mail.build_message(
        server,
        claimed.address,
        _printable(subject)[:MOST_SUBJECT_CHARACTERS],
        "\n\n".join([*parts, foot]) + "\n",
        {"List-Unsubscribe": f"<{base_url}{SETTINGS}>"},
    )


def _webhook(due: DueDelivery, base_url: str) -> dict[str, Any]:
    title, text, url = words_of_delivery(due, base_url)
    notice = due.notice
    moment = notice.created_at if notice else datetime.now(UTC)
    return {
        "type": notice.kind.value if notice else "test",
        "timestamp": moment.astimezone(UTC).isoformat(timespec="milliseconds"),
        "data": {
            "notice_id": notice.id if notice else None,
            "title": title,
            "text": text,
            "url": url,
            "league": notice.league if notice else None,
            "subject": notice.subject if notice else {},
        },
    }


def _discord(due: DueDelivery, base_url: str) -> dict[str, Any]:
    """Names cannot format the text or mention anybody."""
    title, text, url = words_of_delivery(due, base_url)
    said = "\n".join(MARKDOWN.sub(r"\\\1", _one_line(part)) for part in (title, text))
    return {"content": f"{said}\n<{url}>", "allowed_mentions": {"parse": []}}


def _slack(due: DueDelivery, base_url: str) -> dict[str, Any]:
    """Slack reads three characters as markup; ``mrkdwn`` switches the rest off."""
    title, text, url = words_of_delivery(due, base_url)
    said = "\n".join(_one_line(part) for part in (title, text))
    said = said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": f"{said}\n<{url}>", "mrkdwn": False}


def _one_line(text: str) -> str:
    return _printable(text[:MOST_CHAT_CHARACTERS])


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
