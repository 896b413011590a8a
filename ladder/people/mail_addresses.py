"""Stores the mail addresses that people proved. Nobody needs one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from psycopg import errors

from ladder.database.db import Connection, atomic, fetch_one, fetch_optional
from ladder.errors import Conflict, LimitReached, NotFound
from ladder.ids import UserId
from ladder.mail import normal_address
from ladder.people import one_time_links
from ladder.people.one_time_links import LinkPurpose

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
