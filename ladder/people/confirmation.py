"""Asks a person for the credential again before a dangerous act.

``require_recent_confirmation`` is the one function for that. A session counts as confirmed for
``RECENT`` after its start, and after each confirmation on the page ``/confirm``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ladder.database.db import Connection
from ladder.errors import ConfirmationNeeded
from ladder.ids import SessionId, UserId
from ladder.people import sessions
from ladder.people.credentials import credentials_of
from ladder.people.records import Viewer
from ladder.people.sessions import SignInMethod

RECENT: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class ConfirmationWays:
    """The credentials with which a person can confirm."""

    password: bool
    passkey: bool
    issuers: tuple[str, ...]

    @property
    def token(self) -> bool:
        """Whether a token confirms: only a person without any other credential has that way."""
        return not (self.password or self.passkey or self.issuers)


def confirmation_ways(conn: Connection, user_id: UserId) -> ConfirmationWays:
    """Returns the credentials with which this person can confirm."""
    found = credentials_of(conn, user_id)
    return ConfirmationWays(found.has_password, found.passkeys > 0, found.issuers)


def require_recent_confirmation(
    conn: Connection, who: Viewer, session_id: SessionId | None
) -> SignInMethod:
    """Raises ConfirmationNeeded unless this session was confirmed in the last 15 minutes.

    Call it before a dangerous act. A page that lets the error pass sends the visitor to
    ``/confirm`` and back. ``session_id`` is ``request.state.session_id``; None, for a request with
    a token, raises. Raises Forbidden for a session of a limited token
    (`sessions.require_full_session`). Returns the credential that confirmed.
    """
    sessions.require_full_session(conn, who, session_id)
    assert who.user_id is not None
    row = conn.execute(
        "select confirmed_by from sessions where id = %s and user_id = %s"
        " and revoked_at is null and confirmed_at > now() - %s",
        (session_id, who.user_id, RECENT),
    ).fetchone()
    if row is None:
        raise ConfirmationNeeded
    method = SignInMethod(row[0])
    if method is SignInMethod.TOKEN and not confirmation_ways(conn, who.user_id).token:
        raise ConfirmationNeeded
    return method


def confirm_session(
    conn: Connection, user_id: UserId, session_id: SessionId, method: SignInMethod
) -> None:
    """Records that the person of this session gave a credential again."""
    conn.execute(
        "update sessions set confirmed_at = now(), confirmed_by = %s"
        " where id = %s and user_id = %s and revoked_at is null",
        (method, session_id, user_id),
    )
