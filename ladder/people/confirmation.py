"""Asks a person for the credential again before a dangerous act; counts and removes credentials.

``require_recent_confirmation`` is the one function for that. A session counts as confirmed for
``RECENT`` after its start, and after each confirmation on the page ``/confirm``. Nobody removes
their last credential (password, passkey, identity): that person could not sign in again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, LiteralString

from ladder.database.db import Connection, atomic_function, fetch_one
from ladder.errors import ConfirmationNeeded, Conflict, NotFound
from ladder.ids import IdentityId, PasskeyId, SessionId, UserId
from ladder.people import sessions
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


LAST_ONE = "add another way to sign in first: this is your last one"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a person can sign in with."""

    has_password: bool
    passkeys: int
    issuers: tuple[str, ...]
    """The issuer of each identity."""

    def count(self, known_issuers: Collection[str]) -> int:
        """The number of ways in. An identity counts if the operator still configures its issuer."""
        identities = sum(issuer in known_issuers for issuer in self.issuers)
        return self.has_password + self.passkeys + identities


def credentials_of(conn: Connection, user_id: UserId) -> Credentials:
    """Returns what this person can sign in with."""
    query = """select exists (select 1 from passwords where user_id = %(user)s) as has_password,
          (select count(*) from passkeys where user_id = %(user)s) as passkeys,
          array(select issuer from identities where user_id = %(user)s order by id) as issuers"""
    return fetch_one(conn, Credentials, query, {"user": user_id})


@atomic_function
def remove_passkey(
    conn: Connection, user_id: UserId, passkey_id: PasskeyId, known_issuers: Collection[str]
) -> None:
    """Removes a passkey of this person. Raises NotFound, and Conflict for the last credential."""
    _remove(
        conn, "delete from passkeys where id = %s and user_id = %s", passkey_id, user_id, "passkey"
    )
    _refuse_none_left(conn, user_id, known_issuers)


@atomic_function
def remove_identity(
    conn: Connection, user_id: UserId, identity_id: IdentityId, known_issuers: Collection[str]
) -> None:
    """Unlinks an identity. Raises NotFound, and Conflict for the last credential."""
    _remove(
        conn,
        "delete from identities where id = %s and user_id = %s",
        identity_id,
        user_id,
        "identity",
    )
    _refuse_none_left(conn, user_id, known_issuers)


def _remove(
    conn: Connection, statement: LiteralString, row_id: str, user_id: UserId, resource: str
) -> None:
    """Deletes one row, while no other request removes credentials of this person."""
    conn.execute("select 1 from users where id = %s for update", (user_id,))
    if conn.execute(statement, (row_id, user_id)).rowcount == 0:
        raise NotFound.of(resource)


def _refuse_none_left(conn: Connection, user_id: UserId, known_issuers: Collection[str]) -> None:
    if credentials_of(conn, user_id).count(known_issuers) == 0:
        raise Conflict(LAST_ONE)
