"""What channels get: the requests of webhooks and chats, and the mail of several notices.

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
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ladder import mail
from ladder.mail import Mail, MailServer
from ladder.notices.channels import SECRET
from ladder.notices.deliveries import ClaimedChannel, DueDelivery
from ladder.notices.kinds import Form

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
