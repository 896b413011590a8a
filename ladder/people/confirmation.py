"""Asks a person for the credential again before a dangerous act.

``require_recent_confirmation`` is the one function for that. A session counts as confirmed for
``RECENT`` after its start, and after each confirmation on the page ``/confirm``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ladder.database.db import Connection, fetch_one
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
    credentials = credentials_of(conn, user_id)
    return ConfirmationWays(credentials.has_password, credentials.passkeys > 0, credentials.issuers)


def require_recent_confirmation(
    conn: Connection, viewer: Viewer, session_id: SessionId | None
) -> SignInMethod:
    """Raises ConfirmationNeeded unless this session was confirmed in the last 15 minutes.

    Call it before a dangerous act. A page that lets the error pass sends the visitor to
    ``/confirm`` and back. ``session_id`` is ``request.state.session_id``; None, for a request with
    a token, raises. Raises Forbidden for a session of a limited token
    (`sessions.require_full_session`). Returns the credential that confirmed.
    """
    sessions.require_full_session(conn, viewer, session_id)
    assert viewer.user_id is not None
    method = fetch_one(
        conn,
        SignInMethod,
        """select confirmed_by from sessions
        where id = %(session_id)s and user_id = %(user_id)s and revoked_at is null
          and confirmed_at > now() - %(recent)s""",
        {"session_id": session_id, "user_id": viewer.user_id, "recent": RECENT},
        ConfirmationNeeded(),
    )
    if method is SignInMethod.TOKEN and not confirmation_ways(conn, viewer.user_id).token:
        raise ConfirmationNeeded
    return method


def confirm_session(
    conn: Connection, user_id: UserId, session_id: SessionId, method: SignInMethod
) -> None:
    """Records that the person of this session gave a credential again."""
    query = """update sessions set confirmed_at = now(), confirmed_by = %(method)s
        where id = %(session_id)s and user_id = %(user_id)s and revoked_at is null"""
    conn.execute(query, {"method": method, "session_id": session_id, "user_id": user_id})
