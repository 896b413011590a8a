"""An SMTP server, aiosmtpd, that keeps what it accepts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any

from aiosmtpd.controller import Controller

from tests.ports import free_port

WAIT_SECONDS = 120.0


class Mailbox:
    """Keeps each message that the server accepts."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self._changed = threading.Condition()

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address.startswith("full"):
            return "452 the mailbox is full"
        if address.startswith("nobody"):
            return "550 there is no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        with self._changed:
            self.messages.append(envelope.content)
            self._changed.notify_all()
        return "250 OK"

    def read(self, number: int) -> EmailMessage:
        """The message with this number, from 1; waits until it is there."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.messages) >= number, WAIT_SECONDS)
            assert came, f"{len(self.messages)} messages came"
        found = message_from_bytes(self.messages[number - 1], policy=SMTP)
        assert isinstance(found, EmailMessage)
        return found


@contextmanager
def smtp_server(mailbox: Mailbox) -> Iterator[int]:
    """The port of a server without TLS on this machine."""
    port = free_port()
    running = Controller(mailbox, hostname="127.0.0.1", port=port)
    running.start()
    try:
        yield port
    finally:
        running.stop()
