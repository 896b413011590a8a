"""Changes the password of a signed-in person."""

from __future__ import annotations

from ladder.database.db import Connection, atomic_function
from ladder.errors import LadderError
from ladder.ids import SessionId, UserId
from ladder.people import confirmation, device_logins, one_time_links, passwords, sessions, tokens
from ladder.people.one_time_links import LinkPurpose
from ladder.people.records import Viewer
from ladder.people.sessions import SignInMethod


def asks_present_password(conn: Connection, viewer: Viewer, session_id: SessionId) -> bool:
    """Whether a new password needs the present one.

    It does not if the session was just confirmed by something else: the person may have forgotten
    the password.
    """
    assert viewer.user_id is not None
    if not passwords.has_password(conn, viewer.user_id):
        return False
    try:
        method = confirmation.require_recent_confirmation(conn, viewer, session_id)
    except LadderError:
        return True
    return method is SignInMethod.PASSWORD


def require_change(conn: Connection, viewer: Viewer, session_id: SessionId) -> bool:
    """Whether the change needs the present password. Raises Forbidden and ConfirmationNeeded for a
    session that may not change it."""
    sessions.require_full_session(conn, viewer, session_id)
    asks_present = asks_present_password(conn, viewer, session_id)
    if not asks_present:
        confirmation.require_recent_confirmation(conn, viewer, session_id)
    return asks_present


@atomic_function
def change_password(
    conn: Connection,
    user_id: UserId,
    session_id: SessionId,
    hashed: str,
    *,
    revokes_tokens: bool,
) -> None:
    """Stores the hash of the new password. Ends all other sessions, open recovery links, and
    devices that wait for their token. The caller checked the change with ``require_change``."""
    passwords.store_hash(conn, user_id, hashed)
    sessions.revoke_other_sessions(conn, user_id, session_id)
    one_time_links.end_links(conn, user_id, LinkPurpose.RECOVERY)
    device_logins.end_confirmed_logins(conn, user_id)
    if revokes_tokens:
        tokens.revoke_all_tokens(conn, user_id)
