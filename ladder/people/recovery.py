"""Stores proved mail addresses, and signs people in who lost their credentials.

They sign in by a code, a mailed link or an administrator's link. A person keeps recovery codes on
paper; each signs in once. None of these ways needs another one, and nobody needs an address.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Final

from psycopg import errors

from ladder.database.db import (
    Connection,
    atomic,
    atomic_function,
    exists,
    fetch_one,
    fetch_optional,
)
from ladder.errors import Conflict, Invalid, LimitReached, NotFound
from ladder.ids import UserId
from ladder.mail import normal_address
from ladder.people import one_time_links, users
from ladder.people.audit_log import record_audit
from ladder.people.one_time_links import LinkPurpose
from ladder.people.records import User

CODES: Final = 10
LETTERS: Final = "23456789abcdefghjkmnpqrstuvwxyz"
"""No characters that people confuse."""
CODE_LETTERS: Final = 24
"""118 bits: a stolen hash does not lead to the code (OWASP ASVS 2.6.2 asks for 112)."""
GROUP: Final = 6
ADMINISTRATOR_LINK_LIFE: Final = timedelta(hours=24)
WRONG_CODE: Final = "check the code: it is mistyped or was used already"


@atomic_function
def create_codes(conn: Connection, user_id: UserId) -> list[str]:
    """Creates ten codes in place of the old ones. They are shown only once."""
    codes = [_new_code() for _ in range(CODES)]
    conn.execute("select 1 from users where id = %s for update", (user_id,))
    conn.execute("delete from recovery_codes where user_id = %s", (user_id,))
    with conn.cursor() as cur:
        cur.executemany(
            "insert into recovery_codes (hash, user_id) values (%s, %s)",
            [(_hash_code(code), user_id) for code in codes],
        )
    return codes


def count_unused_codes(conn: Connection, user_id: UserId) -> int:
    """The number of codes that still sign this person in."""
    return fetch_one(
        conn,
        int,
        "select count(*) from recovery_codes where user_id = %s and used_at is null",
        (user_id,),
    )


def use_code(conn: Connection, code: str) -> UserId:
    """Returns the person of this code and uses it up. Raises Invalid, also for a second use."""
    query = """update recovery_codes c set used_at = now() from users u
        where c.hash = %(hash)s and c.used_at is null and u.id = c.user_id and u.erased_at is null
        returning u.id"""
    return fetch_one(conn, UserId, query, {"hash": _hash_code(code)}, Invalid("code", WRONG_CODE))


@atomic_function
def create_administrator_link(
    conn: Connection, user_id: UserId, *, by: UserId | None, reason: str
) -> tuple[User, str, datetime]:
    """Creates a link that signs a person in once, in the next 24 hours, and an audit entry.

    ``by`` is the administrator; None is the operator on the machine itself. Returns the person, the
    link's secret and its expiry. Raises NotFound.
    """
    user = users.get_user(conn, user_id)
    if not exists(conn, "select 1 from users where id = %s and erased_at is null", (user_id,)):
        raise NotFound.of("user")
    link, secret = one_time_links.create_link(
        conn,
        LinkPurpose.RECOVERY,
        user_id=user_id,
        created_by=by,
        life=ADMINISTRATOR_LINK_LIFE,
    )
    record_audit(conn, None, by=by, act="create-recovery-link", subject=user_id, reason=reason)
    return user, secret, link.expires_at


def create_mailed_link(conn: Connection, address: str) -> tuple[str, str] | None:
    """Creates a link for the person with this proven address; returns the address and the secret.

    None if nobody has the address, or it got five mails in the last hour. Never tell the visitor
    which. Raises Invalid for text that is no address.
    """
    query = """select m.user_id, m.address from mail_addresses m join users u on u.id = m.user_id
        where lower(m.address) = lower(%(address)s) and u.erased_at is null"""
    row = conn.execute(query, {"address": normal_address(address)}).fetchone()
    if row is None:
        return None
    try:
        refuse_many_mails(conn, UserId(row[0]), LinkPurpose.RECOVERY)
    except LimitReached:
        return None
    _, secret = one_time_links.create_link(
        conn, LinkPurpose.RECOVERY, user_id=UserId(row[0]), address=row[1]
    )
    return str(row[1]), secret


def person_of_link(conn: Connection, secret: str) -> User:
    """Returns the person whom this link signs in, and leaves it valid. Raises NotFound."""
    link = one_time_links.read_link(conn, LinkPurpose.RECOVERY, secret)
    assert link.user_id is not None
    return users.get_user(conn, link.user_id)


@atomic_function
def use_link(conn: Connection, secret: str) -> UserId:
    """Returns the person of this link and uses it up. Raises NotFound, also for a second use.

    A mailed link works only while its address is still the person's.
    """
    link = one_time_links.use_link(conn, LinkPurpose.RECOVERY, secret)
    assert link.user_id is not None
    is_stale = link.address is not None and link.address != proven_address(conn, link.user_id)
    if is_stale or users.viewer_of_user(conn, link.user_id) is None:
        raise NotFound(one_time_links.WRONG_LINK)
    return link.user_id


def _new_code() -> str:
    letters = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
    return "-".join(letters[at : at + GROUP] for at in range(0, CODE_LETTERS, GROUP))


def _hash_code(code: str) -> bytes:
    """The hash of a code, however it is typed."""
    letters = "".join(letter for letter in code.lower() if letter in LETTERS)
    return hashlib.sha256(letters.encode()).digest()


MAILS_AN_HOUR: Final = 5
"""Links of one purpose that are mailed in an hour for one account, or to one address without an
account, so that nobody floods a mailbox."""
HOUR: Final = timedelta(hours=1)


def proven_address(conn: Connection, user_id: UserId) -> str | None:
    """Returns the mail address that this person proved; None without one."""
    return fetch_optional(
        conn, str, "select address from mail_addresses where user_id = %s", (user_id,)
    )


def request_address(conn: Connection, user_id: UserId, address: str) -> tuple[str, str]:
    """Creates the link that proves an address; returns the normal address and the link's secret.

    Mail the secret to the address. Raises Invalid, and LimitReached after five mails in an hour.
    """
    normal = normal_address(address)
    refuse_many_mails(conn, user_id, LinkPurpose.ADDRESS)
    _, secret = one_time_links.create_link(
        conn, LinkPurpose.ADDRESS, user_id=user_id, address=normal
    )
    return normal, secret


def refuse_many_mails(conn: Connection, user_id: UserId, purpose: LinkPurpose) -> None:
    """Raises LimitReached if this account's links of this purpose filled a mailbox lately."""
    query = "select now() from users where id = %s for update"
    now = fetch_one(conn, datetime, query, (user_id,))
    sent = one_time_links.count_recent_links(conn, user_id, purpose, HOUR)
    if sent >= MAILS_AN_HOUR:
        raise LimitReached("mails for one account an hour", sent, MAILS_AN_HOUR, now + HOUR)


def prove_address(conn: Connection, user_id: UserId, secret: str) -> str:
    """Stores the address of a mailed link as this person's; returns it.

    Raises NotFound for a used or expired link and for another person's, and Conflict if another
    account has the address.
    """
    link = one_time_links.use_link(conn, LinkPurpose.ADDRESS, secret)
    if link.user_id != user_id or link.address is None:
        raise NotFound(one_time_links.WRONG_LINK)
    store_address(conn, user_id, link.address)
    return link.address


def store_address(conn: Connection, user_id: UserId, address: str) -> None:
    """Stores a proven address. Raises Conflict if another account has it."""
    try:
        with atomic(conn):
            query = """insert into mail_addresses (user_id, address) values (%s, %s)
                on conflict (user_id) do update set address = excluded.address,
                  proven_at = now()"""
            conn.execute(query, (user_id, address))
    except errors.UniqueViolation:
        raise Conflict(
            "use another address: another account has this one", field="address"
        ) from None


def remove_address(conn: Connection, user_id: UserId) -> None:
    """Forgets this person's address, and makes links to it useless."""
    conn.execute("delete from mail_addresses where user_id = %s", (user_id,))
    query = """update one_time_links set expires_at = now()
        where user_id = %(user_id)s and address is not null and used_at is null
          and expires_at > now()"""
    conn.execute(query, {"user_id": user_id})
