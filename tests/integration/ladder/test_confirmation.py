"""Asking for the credential again before a dangerous act."""

from __future__ import annotations

import pytest

from ladder.database.db import Connection
from ladder.errors import ConfirmationNeeded, Forbidden
from ladder.ids import SessionId, TokenId
from ladder.people import confirmation, passwords, sessions, tokens, users
from ladder.people.confirmation import require_recent_confirmation
from ladder.people.records import User, Viewer
from ladder.people.sessions import SignInMethod


@pytest.fixture
def ada(conn: Connection) -> User:
    return users.create_user(conn, "Ada")


def started(
    conn: Connection, user: User, token_id: TokenId | None = None
) -> tuple[SessionId, Viewer]:
    """A new session of this person."""
    found = sessions.viewer_of_session(
        conn, sessions.create_session(conn, user.id, "Firefox", token_id)
    )
    assert found is not None
    return found


def grow_old(conn: Connection) -> None:
    conn.execute("update sessions set confirmed_at = now() - interval '16 minutes'")


def test_a_session_is_confirmed_for_15_minutes_after_its_start(conn: Connection, ada: User) -> None:
    session_id, viewer = started(conn, ada)
    assert require_recent_confirmation(conn, viewer, session_id) is SignInMethod.PASSWORD
    grow_old(conn)
    with pytest.raises(ConfirmationNeeded):
        require_recent_confirmation(conn, viewer, session_id)
    confirmation.confirm_session(conn, ada.id, session_id, SignInMethod.PASSKEY)
    assert require_recent_confirmation(conn, viewer, session_id) is SignInMethod.PASSKEY


def test_a_confirmation_counts_for_its_own_session_and_person(conn: Connection, ada: User) -> None:
    session_id, viewer = started(conn, ada)
    other_session, _ = started(conn, ada)
    bob_session, bob = started(conn, users.create_user(conn, "Bob"))
    grow_old(conn)
    confirmation.confirm_session(conn, ada.id, session_id, SignInMethod.PASSWORD)
    confirmation.confirm_session(conn, ada.id, bob_session, SignInMethod.PASSWORD)
    for who, found in ((viewer, other_session), (bob, session_id), (bob, bob_session)):
        with pytest.raises(ConfirmationNeeded):
            require_recent_confirmation(conn, who, found)


def test_a_request_without_a_session_is_never_confirmed(conn: Connection, ada: User) -> None:
    _, viewer = started(conn, ada)
    with pytest.raises(ConfirmationNeeded):
        require_recent_confirmation(conn, viewer, None)


def test_a_token_confirms_only_a_person_without_a_password(conn: Connection, ada: User) -> None:
    scopes = ["read", "agents:write", "scrims:write", "leagues:write"]
    token, _ = tokens.mint_token(conn, ada.id, "laptop", scopes)
    session_id, viewer = started(conn, ada, token.id)
    assert require_recent_confirmation(conn, viewer, session_id) is SignInMethod.TOKEN
    passwords.store_hash(conn, ada.id, "a hash")
    with pytest.raises(ConfirmationNeeded):
        require_recent_confirmation(conn, viewer, session_id)


def test_a_session_of_a_limited_token_is_refused(conn: Connection, ada: User) -> None:
    token, _ = tokens.mint_token(conn, ada.id, "laptop", ["read"])
    session_id, viewer = started(conn, ada, token.id)
    with pytest.raises(Forbidden, match="Sign in with your password"):
        require_recent_confirmation(conn, viewer, session_id)
