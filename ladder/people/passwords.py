"""Hashes passwords with argon2id, sets, changes and checks them.

Source of the defaults: the OWASP password storage cheat sheet (19 MiB, two passes, one lane).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from ladder.database.db import Connection, atomic_function, exists
from ladder.errors import Invalid, LadderError
from ladder.ids import SessionId, UserId
from ladder.people import confirmation, one_time_links, sessions, tokens
from ladder.people.one_time_links import LinkPurpose
from ladder.people.records import Viewer
from ladder.people.sessions import SignInMethod
from ladder.slugs import name_key, normal_text

LEAST_CHARACTERS: Final = 10
MOST_CHARACTERS: Final = 200
WAIT_SECONDS: Final = 5.0


@cache
def common_passwords() -> frozenset[str]:
    """The most used passwords that are long enough to be set."""
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # slow to import

    return frozenset(word for word in FREQUENCY_LISTS["passwords"] if len(word) >= LEAST_CHARACTERS)


class PasswordsBusy(Exception):
    """Too many passwords wait to be hashed; try again shortly."""


class PasswordHashing:
    """Hashes and verifies passwords, at most ``at_a_time`` together: each takes its memory."""

    def __init__(self, memory_mib: int = 19, passes: int = 2, at_a_time: int = 2) -> None:
        self._hasher = PasswordHasher(
            time_cost=passes, memory_cost=memory_mib << 10, parallelism=1, type=Type.ID
        )
        self._turns = threading.BoundedSemaphore(at_a_time)
        self._unknown = self._hasher.hash("the password of nobody")
        """Verified for unknown names, so that they take as long as known ones."""

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Waits for one of the few turns. Raises PasswordsBusy."""
        if not self._turns.acquire(timeout=WAIT_SECONDS):
            raise PasswordsBusy
        try:
            yield
        finally:
            self._turns.release()

    def hash(self, password: str) -> str:
        """Returns the hash with its salt and parameters. Raises PasswordsBusy."""
        with self._turn():
            return self._hasher.hash(password)

    def is_right(self, hashed: str | None, password: str) -> bool:
        """Whether the password has this hash; None never matches, and takes as long.

        Raises PasswordsBusy.
        """
        with self._turn():
            try:
                return self._hasher.verify(hashed or self._unknown, password) and bool(hashed)
            except (VerificationError, InvalidHashError):
                return False

    def is_outdated(self, hashed: str) -> bool:
        """Whether the hash has other parameters than new ones."""
        return self._hasher.check_needs_rehash(hashed)


def refuse_weak_password(password: str, name: str) -> None:
    """Raises Invalid for a password that is short, long, common, or the person's name."""
    if not LEAST_CHARACTERS <= len(password) <= MOST_CHARACTERS:
        raise Invalid("password", f"use {LEAST_CHARACTERS} to {MOST_CHARACTERS} characters")
    if password.casefold() in common_passwords():
        raise Invalid("password", "choose another one: this one is on lists of common passwords")
    if name_key(password) == name_key(name):
        raise Invalid("password", "choose another one: this one is your name")


def store_hash(conn: Connection, user_id: UserId, hashed: str) -> None:
    """Sets or replaces a person's password by its hash."""
    query = """insert into passwords (user_id, hash) values (%(user_id)s, %(hashed)s)
        on conflict (user_id) do update set hash = excluded.hash, changed_at = now()"""
    conn.execute(query, {"user_id": user_id, "hashed": hashed})


def stored_hash(conn: Connection, name: str) -> tuple[UserId, str] | None:
    """Returns the person with this name (ignoring case) and the password's hash.

    None if nobody has the name or the person has no password. Verify the hash outside the
    transaction: it takes a while.
    """
    query = """select u.id, p.hash from users u join passwords p on p.user_id = u.id
        where lower(u.name) = lower(%(name)s) and u.erased_at is null"""
    row = conn.execute(query, {"name": normal_text(name)}).fetchone()
    return None if row is None else (UserId(row[0]), str(row[1]))


@atomic_function
def remove_password(conn: Connection, user_id: UserId) -> None:
    """Removes a lost password and ends all sessions: the person signs in with a token next."""
    conn.execute("delete from passwords where user_id = %s", (user_id,))
    conn.execute(
        "update sessions set revoked_at = now() where user_id = %s and revoked_at is null",
        (user_id,),
    )


def has_password(conn: Connection, user_id: UserId) -> bool:
    """Whether the person has a password."""
    return exists(conn, "select 1 from passwords where user_id = %s", (user_id,))


def asks_present_password(conn: Connection, viewer: Viewer, session_id: SessionId) -> bool:
    """Whether a new password needs the present one.

    It does not if the session was just confirmed by something else: the person may have forgotten
    the password.
    """
    assert viewer.user_id is not None
    if not has_password(conn, viewer.user_id):
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
    store_hash(conn, user_id, hashed)
    sessions.revoke_other_sessions(conn, user_id, session_id)
    one_time_links.end_links(conn, user_id, LinkPurpose.RECOVERY)
    tokens.end_confirmed_logins(conn, user_id)
    if revokes_tokens:
        tokens.revoke_all_tokens(conn, user_id)
