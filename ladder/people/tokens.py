"""Creates and checks API tokens: ``peck_``, 43 random characters, 6 of checksum.

Only the SHA-256 is stored. The text has 256 random bits, so a fast hash is enough. The checksum
detects mistyped tokens, and lets scanners find leaked ones, without a database query.

A device that has no browser gets a token as RFC 8628 describes: `peck login`. The device gets a
secret and a short code. A signed-in person types the code on a page and confirms it. Then the
device exchanges its secret for a token.
"""

from __future__ import annotations

import hashlib
import secrets
import string
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, get_args

from pydantic import Field

from ladder import ids
from ladder.database.db import Connection, atomic_function, fetch, fetch_one, fetch_optional
from ladder.errors import Conflict, Forbidden, Invalid, NotFound
from ladder.field_types import RECORD, ShownOnce
from ladder.ids import DeviceLoginId, TokenId, UserId
from ladder.people import audit_log, quotas
from ladder.people.records import User, Viewer
from ladder.people.request_models import NewToken, Scope

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
PREFIX: Final = "peck_"
LETTERS: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_CHARS: Final = 43
CHECK_CHARS: Final = 6
SELECT: Final = "select id, user_id, label, scopes, created_at, expires_at, revoked_at from tokens"


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its text."""

    __pydantic_config__ = RECORD
    id: Annotated[TokenId, Field(examples=["tok_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    user_id: UserId
    label: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class MintedToken(Token):
    """A new token with its text. The text is shown only once and not stored: a repeated
    Idempotency-Key gets null instead."""

    token: Annotated[ShownOnce, Field(examples=["peck_..."])]


def new_token_text() -> str:
    """Returns a new token text."""
    body = "".join(secrets.choice(LETTERS) for _ in range(RANDOM_CHARS))
    return PREFIX + body + _checksum(body)


def is_well_formed(text: str) -> bool:
    """Whether the prefix, the length and the checksum are right."""
    body, check = text[len(PREFIX) : -CHECK_CHARS], text[-CHECK_CHARS:]
    return (
        text.startswith(PREFIX)
        and len(body) == RANDOM_CHARS
        and text.isascii()
        and check == _checksum(body)
    )


@atomic_function
def mint_token(
    conn: Connection,
    user_id: UserId,
    label: str,
    scopes: Sequence[str],
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Creates a token; returns it and its text, which is shown only once.

    Raises LadderError for an unknown scope, Conflict for ``admin`` if the user is no administrator,
    and Forbidden for a blocked person.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown:
        raise Invalid("scopes", f"{', '.join(unknown)} unknown; choose from {', '.join(SCOPES)}")
    query = """select u.is_admin, exists (select 1 from user_blocks b where b.user_id = u.id)
        from users u
        where u.id = %(user_id)s"""
    person = conn.execute(query, {"user_id": user_id}).fetchone()
    if person is None:
        raise NotFound.of("user")
    if person[1]:
        raise Forbidden("Unblock the account first: an administrator blocked it.")
    if "admin" in scopes and not person[0]:
        raise Conflict("leave out admin; it is for administrators only", field="scopes")
    text = new_token_text()
    token_id = TokenId(ids.new_id("tok"))
    kept = sorted(set(scopes), key=SCOPES.index)
    query = """insert into tokens (id, user_id, label, hash, scopes, expires_at)
        values (%s, %s, %s, %s, %s, %s)"""
    conn.execute(query, (token_id, user_id, label, _hash_token(text), kept, expires_at))
    return get_token(conn, user_id, token_id), text


@atomic_function
def mint_requested_token(
    conn: Connection, by: Viewer, owner: User, request: NewToken
) -> MintedToken:
    """Creates a token of ``owner``. The caller checked that the token of ``by`` is a full one.

    Nobody gives other scopes than those of the token they use.
    Raises Forbidden, and LimitReached.
    """
    wider = sorted(set(request.scopes) - by.scopes)
    if wider:
        raise Forbidden(f"A token can only give its own scopes; this one lacks {wider[0]!r}.")
    if "admin" in request.scopes and not owner.is_admin:
        raise Forbidden(f"{owner.name} is not an administrator.")
    scopes = sorted(set(request.scopes))
    token, text = mint_token(conn, owner.id, request.label, scopes, request.expires_at)
    if owner.id != by.user_id:
        reason = ", ".join(token.scopes)
        audit_log.record_audit(
            conn, None, by=by.user_id, act="create-token", subject=owner.id, reason=reason
        )
    quotas.check_token_quota(conn, owner.id)
    return MintedToken(**asdict(token), token=text)


def list_tokens(conn: Connection, user_id: UserId) -> list[Token]:
    """Returns a person's tokens, newest first, including revoked and expired ones."""
    return fetch(conn, Token, f"{SELECT} where user_id = %s order by id desc", (user_id,))


def get_token(conn: Connection, user_id: UserId, token_id: TokenId) -> Token:
    """Returns a token of this person. Raises NotFound."""
    query = f"{SELECT} where id = %s and user_id = %s"
    return fetch_one(conn, Token, query, (token_id, user_id), NotFound.of("token"))


def expiry_of(conn: Connection, text: str) -> datetime | None:
    """Returns the expiry of the token with this text; None: never. Raises NotFound."""
    return _token_of_text(conn, text).expires_at


def revoke_token(conn: Connection, user_id: UserId, token_id: TokenId) -> Token:
    """Revokes a token of this person; a repeat is no error. Raises NotFound."""
    conn.execute(
        "update tokens set revoked_at = coalesce(revoked_at, now()) where id = %s and user_id = %s",
        (token_id, user_id),
    )
    return get_token(conn, user_id, token_id)


def revoke_all_tokens(conn: Connection, user_id: UserId) -> int:
    """Revokes all tokens of this person; returns how many were valid until now."""
    query = """update tokens set revoked_at = now()
        where user_id = %(user_id)s and revoked_at is null
          and (expires_at is null or expires_at > now())"""
    return conn.execute(query, {"user_id": user_id}).rowcount


def valid_token(conn: Connection, text: str) -> Token | None:
    """Returns the token with this text, if it is neither expired nor revoked."""
    if not is_well_formed(text) or user_of_token(conn, text) is None:
        return None
    return _token_of_text(conn, text)


def owner_of_token(conn: Connection, text: str) -> UserId | None:
    """Returns the person of a token, also of one that is expired or revoked; None if unknown."""
    if not is_well_formed(text):
        return None
    hashed = _hash_token(text)
    return fetch_optional(conn, UserId, "select user_id from tokens where hash = %s", (hashed,))


def user_of_token(conn: Connection, text: str) -> tuple[UserId, tuple[str, ...]] | None:
    """Returns the person and the scopes of a valid token, else None."""
    if not is_well_formed(text):
        return None
    query = """select user_id, scopes from tokens
        where hash = %(hash)s and revoked_at is null
          and (expires_at is null or expires_at > now())"""
    row = conn.execute(query, {"hash": _hash_token(text)}).fetchone()
    return None if row is None else (row[0], tuple(row[1]))


def _token_of_text(conn: Connection, text: str) -> Token:
    query = f"{SELECT} where hash = %s"
    return fetch_one(conn, Token, query, (_hash_token(text),), NotFound.of("token"))


def _hash_token(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits = []
    for _ in range(CHECK_CHARS):
        number, digit = divmod(number, len(LETTERS))
        digits.append(LETTERS[digit])
    return "".join(reversed(digits))


LIFE: Final = timedelta(minutes=15)
POLL_SECONDS: Final = 5
CODE_ALPHABET: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that a code is no word, as RFC 8628 advises."""
CODE_LETTERS: Final = 8
DEVICE_SCOPES: Final = tuple(scope for scope in SCOPES if scope != "admin")
WRONG_CODE: Final = "there is no such code, or it has expired; run `peck login` again"


class LoginState(StrEnum):
    """What a device learns when it asks for its token."""

    WAITING = "waiting"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    EXPIRED = "expired"
    """Also for an unknown secret, and for one that was used."""


@dataclass(frozen=True, slots=True)
class DeviceLogin:
    """A device that waits for a person's answer."""

    id: DeviceLoginId
    code: str
    device: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class DeviceAnswer:
    """The state of a device's login, and its token once it is confirmed."""

    state: LoginState
    token: Token | None = None
    text: str | None = None
    """The token's text. It is given only once."""


def start_login(conn: Connection, device: str) -> tuple[DeviceLogin, str]:
    """Creates a login; returns it and the device's secret, which is shown only once."""
    conn.execute("delete from device_logins where created_at < now() - interval '1 day'")
    secret = secrets.token_urlsafe(32)
    letters = "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LETTERS))
    login = fetch_one(
        conn,
        DeviceLogin,
        """insert into device_logins (id, hash, code, device, expires_at)
        values (%s, %s, %s, %s, now() + %s) returning id, code, device, created_at, expires_at""",
        (ids.new_id("dev"), _hash_secret(secret), f"{letters[:4]}-{letters[4:]}", device, LIFE),
    )
    return login, secret


def waiting_login(conn: Connection, code: str) -> DeviceLogin:
    """Returns the login with this code, however it is typed. Raises NotFound."""
    letters = "".join(letter for letter in code.upper() if letter in CODE_ALPHABET)
    return fetch_one(
        conn,
        DeviceLogin,
        """select id, code, device, created_at, expires_at from device_logins
        where code = %(code)s and answered_at is null and expires_at > now()""",
        {"code": f"{letters[:4]}-{letters[4:]}"},
        NotFound(WRONG_CODE, field="code"),
    )


def answer_login(conn: Connection, user_id: UserId, code: str, *, confirm: bool) -> DeviceLogin:
    """Confirms or refuses a login for this person. Raises NotFound, also for a second answer."""
    login = waiting_login(conn, code)
    done = conn.execute(
        """update device_logins
        set user_id = %(user_id)s, answered_at = now(), is_refused = %(is_refused)s
        where id = %(login_id)s and answered_at is null""",
        {"user_id": user_id, "is_refused": not confirm, "login_id": login.id},
    )
    if done.rowcount == 0:
        raise NotFound(WRONG_CODE, field="code")
    return login


def end_confirmed_logins(conn: Connection, user_id: UserId) -> int:
    """Ends this person's confirmed logins whose device has no token yet; returns how many."""
    query = """update device_logins set expires_at = now()
        where user_id = %(user_id)s and used_at is null and expires_at > now()"""
    return conn.execute(query, {"user_id": user_id}).rowcount


@atomic_function
def redeem_login(conn: Connection, secret: str) -> DeviceAnswer:
    """Returns the state of the login with this secret; once confirmed, creates its token.

    Raises LimitReached if the person created too many tokens today.
    """
    query = """select id, user_id, device, is_refused from device_logins
        where hash = %(hash)s and used_at is null and expires_at > now() for update"""
    row = conn.execute(query, {"hash": _hash_secret(secret)}).fetchone()
    if row is None:
        return DeviceAnswer(LoginState.EXPIRED)
    login_id, user_id, device, is_refused = row
    if is_refused:
        return DeviceAnswer(LoginState.REFUSED)
    if user_id is None:
        return DeviceAnswer(LoginState.WAITING)
    conn.execute("update device_logins set used_at = now() where id = %s", (login_id,))
    try:
        token, text = mint_token(conn, user_id, f"peck login on {device}"[:60], DEVICE_SCOPES)
    except NotFound:
        raise Conflict("sign in again: this account no longer exists") from None
    quotas.check_token_quota(conn, user_id)
    return DeviceAnswer(LoginState.CONFIRMED, token, text)


def _hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
