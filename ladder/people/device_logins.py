"""Signs in a device that has no browser, as RFC 8628 describes: `peck login`.

The device gets a secret and a short code. A signed-in person types the code on a page and confirms
it. Then the device exchanges its secret for a token.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from ladder import ids
from ladder.database.db import Connection, atomic_function, fetch_one
from ladder.errors import Conflict, NotFound
from ladder.ids import DeviceLoginId, UserId
from ladder.people import quotas, tokens
from ladder.people.tokens import Token

LIFE: Final = timedelta(minutes=15)
POLL_SECONDS: Final = 5
LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that a code is no word, as RFC 8628 advises."""
CODE_LETTERS: Final = 8
SCOPES: Final = ("read", "agents:write", "scrims:write", "leagues:write")
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
    letters = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
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
    letters = "".join(letter for letter in code.upper() if letter in LETTERS)
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
        token, text = tokens.mint_token(conn, user_id, f"peck login on {device}"[:60], SCOPES)
    except NotFound:
        raise Conflict("sign in again: this account no longer exists") from None
    quotas.check_token_quota(conn, user_id)
    return DeviceAnswer(LoginState.CONFIRMED, token, text)


def _hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
