"""Creates, checks, lists and revokes sessions (browsers that are signed in), and blocks people.

The browser's cookie holds a random key; the row holds its SHA-256. A session made with a token has
the token's scopes and ends with it. Any other session has all scopes. The row also says when and by
what the person last proved to be that person (`confirmation`).
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from ladder import ids
from ladder.database.db import Connection, exists, fetch, fetch_optional
from ladder.errors import Forbidden, NotFound
from ladder.field_types import RECORD
from ladder.ids import SessionId, TokenId, UserId
from ladder.people import tokens, users
from ladder.people.records import Viewer
from ladder.people.tokens import SCOPES

LIFE: Final = timedelta(days=14)
SEEN_EVERY: Final = timedelta(minutes=5)
"""How often a session's time of last use is written."""


class SignInMethod(StrEnum):
    """What a person proved to be that person with."""

    PASSWORD = "password"  # noqa: S105
    PASSKEY = "passkey"
    IDENTITY = "identity"
    """An account at an identity provider."""
    RECOVERY = "recovery"
    """A recovery code, or a link from a mail or an administrator."""
    TOKEN = "token"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser."""

    __pydantic_config__ = RECORD
    id: Annotated[SessionId, Field(examples=["ses_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    user_id: UserId
    device: Annotated[str, Field(examples=["Firefox on Linux"])]
    """Browser and system, as the browser names itself."""
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


def create_session(
    conn: Connection,
    user_id: UserId,
    device: str,
    token_id: TokenId | None = None,
    method: SignInMethod = SignInMethod.PASSWORD,
) -> str:
    """Creates a session; returns the key for the cookie. With ``token_id`` it ends with the
    token, and the token is its method.
    """
    refuse_blocked_account(conn, user_id)
    conn.execute(
        "delete from sessions where user_id = %s and expires_at < now() - interval '30 days'",
        (user_id,),
    )
    key = secrets.token_urlsafe(32)
    conn.execute(
        """insert into sessions (
          id, user_id, token_id, hash, device, expires_at, confirmed_at, confirmed_by)
        values (%s, %s, %s, %s, %s, now() + %s, now(), %s)""",
        (
            ids.new_id("ses"),
            user_id,
            token_id,
            _hash_key(key),
            device[:100],
            LIFE,
            SignInMethod.TOKEN if token_id else method,
        ),
    )
    return key


def viewer_of_session(conn: Connection, key: str) -> tuple[SessionId, Viewer] | None:
    """Returns the session with this key and its person; None if it has ended."""
    query = """select s.id, s.user_id, t.scopes, s.seen_at < now() - %(seen_every)s from sessions s
        left join tokens t on t.id = s.token_id
        where s.hash = %(hash)s and s.revoked_at is null and s.expires_at > now()
          and (t.id is null
            or (t.revoked_at is null and (t.expires_at is null or t.expires_at > now())))"""
    row = conn.execute(query, {"seen_every": SEEN_EVERY, "hash": _hash_key(key)}).fetchone()
    if row is None:
        return None
    session_id, user_id, scopes, is_due = row
    viewer = users.viewer_of_user(conn, user_id, SCOPES if scopes is None else scopes)
    if viewer is None:
        return None
    if is_due:
        conn.execute("update sessions set seen_at = now() where id = %s", (session_id,))
    return SessionId(session_id), viewer


def require_full_session(conn: Connection, viewer: Viewer, session_id: SessionId | None) -> None:
    """Raises Forbidden if the session began with a token of few scopes, or with one that expires.

    Ask this before a change of the account. So a limited token cannot win more, or last longer.
    """
    users.require_all_scopes(conn, viewer)
    query = """select 1 from sessions s join tokens t on t.id = s.token_id
        where s.id = %(session_id)s and t.expires_at is not null"""
    expires = exists(conn, query, {"session_id": session_id})
    if expires:
        raise Forbidden("Sign in with your password: this session began with a token that expires.")


def list_sessions(conn: Connection, user_id: UserId) -> list[Session]:
    """Returns a person's sessions that have not ended, the last used first."""
    query = """select s.id, s.user_id, s.device, s.created_at, s.seen_at, s.expires_at
        from sessions s
        where s.user_id = %(user_id)s and s.revoked_at is null and s.expires_at > now()
        order by s.seen_at desc, s.id"""
    return fetch(conn, Session, query, {"user_id": user_id})


def revoke_session(conn: Connection, user_id: UserId, session_id: SessionId) -> None:
    """Ends a session of this person; a repeat is no error. Raises NotFound."""
    query = """update sessions set revoked_at = coalesce(revoked_at, now())
        where id = %(session_id)s and user_id = %(user_id)s"""
    done = conn.execute(query, {"session_id": session_id, "user_id": user_id})
    if done.rowcount == 0:
        raise NotFound.of("session")


def end_session_of_key(conn: Connection, key: str) -> None:
    """Ends the session with this key, if there is one."""
    conn.execute(
        "update sessions set revoked_at = now() where hash = %s and revoked_at is null",
        (_hash_key(key),),
    )


def revoke_other_sessions(conn: Connection, user_id: UserId, kept: SessionId | None) -> int:
    """Ends all sessions of this person but one; returns how many ended."""
    query = """update sessions set revoked_at = now()
        where user_id = %(user_id)s and revoked_at is null and id is distinct from %(kept)s"""
    return conn.execute(query, {"user_id": user_id, "kept": kept}).rowcount


def _hash_key(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def reason_of_block(conn: Connection, user_id: UserId) -> str | None:
    """Returns why this person is blocked; None if the person is not."""
    return fetch_optional(
        conn, str, "select reason from user_blocks where user_id = %s", (user_id,)
    )


def refuse_blocked_account(conn: Connection, user_id: UserId) -> None:
    """Raises Forbidden with the reason if this person is blocked."""
    reason = reason_of_block(conn, user_id)
    if reason is not None:
        raise Forbidden(f"Ask an administrator: your account is blocked. The reason: {reason}")


def refuse_blocked_token(conn: Connection, text: str) -> None:
    """Raises Forbidden with the reason if this is a token of a blocked person, valid or not."""
    owner = tokens.owner_of_token(conn, text)
    if owner is not None:
        refuse_blocked_account(conn, owner)
