"""Sends the mails of accounts in threads of their own, so that no visitor waits for a mail server.

An answer that came at once for an unknown address, and later for a known one, would tell which
addresses have an account. So ``later`` also takes the look-up of the address.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import psycopg
import psycopg_pool
from fastapi import Request

from ladder import mail
from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import UserId
from ladder.mail import MailError, MailServer
from ladder.people import recovery

AT_A_TIME: Final = 2
MOST_WAITING: Final = 200
"""Mails of one process that wait; further ones are dropped and logged."""
FOOT: Final = "\n\nYou get this mail because of your account at {base_url}. Nobody reads answers.\n"
log = logging.getLogger(__name__)


class Mailer:
    """Sends mails of one process."""

    def __init__(self, server: MailServer, base_url: str) -> None:
        self._server, self.base_url = server, base_url.rstrip("/")
        self._turns = threading.BoundedSemaphore(MOST_WAITING)
        self._threads = ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="mail")

    def later(self, act: Callable[[], None]) -> None:
        """Runs this soon, in another thread, and logs its errors."""
        if not self._turns.acquire(blocking=False):
            log.error("a mail is dropped: %d wait already", MOST_WAITING)
            return
        try:
            self._threads.submit(self._run, act)
        except RuntimeError:  # the process ends
            self._turns.release()

    def _run(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (MailError, LadderError, psycopg.Error, psycopg_pool.PoolTimeout) as error:
            log.error("a mail was not sent: %s", error)
        except Exception:
            log.exception("a mail was not sent")
        finally:
            self._turns.release()

    def send(self, to: str, subject: str, text: str) -> None:
        """Sends a mail. Raises MailError and Invalid."""
        foot = FOOT.format(base_url=self.base_url)
        mail.send_message(
            self._server, mail.build_message(self._server, to, subject, text.rstrip() + foot)
        )

    def send_link(self, to: str, subject: str, path: str, text: str) -> None:
        """Sends a mail with a link of this site. ``text`` says what the link does."""
        self.send(to, subject, f"{text}\n\n{self.base_url}{path}\n\nThe link works once.")

    def close(self) -> None:
        """Waits for the mails on their way and drops the others."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def tell_change(request: Request, conn: Connection, user_id: UserId, change: str) -> None:
    """Tells the person of a change of the account, if they proved a mail address."""
    if request.app.state.peck.mailer is None:
        return
    address = recovery.proven_address(conn, user_id)
    if address is not None:
        tell(request, address, change)


def tell(request: Request, address: str, change: str) -> None:
    """Mails this address that an account was changed, if there is a mail server."""
    mailer: Mailer | None = request.app.state.peck.mailer
    if mailer is None:
        return
    text = (
        f"{change}\n\nIf it was not you, open {mailer.base_url}/me/account, set a new password and"
        " revoke what you do not know."
    )
    mailer.later(lambda: mailer.send(address, "Your account was changed", text))
