"""Writes the mail that tells of several notices."""

from __future__ import annotations

from typing import Final

from ladder import mail
from ladder.mail import Mail, MailServer
from ladder.notices.deliveries import ClaimedChannel
from ladder.notices.payloads import words_of_delivery

SETTINGS: Final = "/me/notices/settings"
MOST_SUBJECT_CHARACTERS: Final = 120


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
    parts = ["\n".join(_plain(line) for line in words) for words in shown]
    foot = f"-- \nChoose what you get by mail: {base_url}{SETTINGS}"
    return mail.build_message(
        server,
        claimed.address,
        _plain(subject)[:MOST_SUBJECT_CHARACTERS],
        "\n\n".join([*parts, foot]) + "\n",
        {"List-Unsubscribe": f"<{base_url}{SETTINGS}>"},
    )


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
