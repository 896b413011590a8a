"""Creates and uses links that act once. The row holds the SHA-256 of the link's secret."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from ladder.database.db import Connection, fetch_one
from ladder.errors import NotFound
from ladder.ids import UserId

WRONG_LINK: Final = "this link was used already, has expired or is not complete; ask for a new one"


class LinkPurpose(StrEnum):
    """What a link does."""

    RECOVERY = "recovery"
    """Signs its person in."""
    ADDRESS = "address"
    """Proves the mail address of an account."""
    SIGN_UP = "sign_up"
    """Proves the mail address of a person without an account."""


LIVES: Final = {
    LinkPurpose.RECOVERY: timedelta(minutes=30),
    LinkPurpose.ADDRESS: timedelta(hours=24),
    LinkPurpose.SIGN_UP: timedelta(hours=24),
}


@dataclass(frozen=True, slots=True)
class OneTimeLink:
    """A link that was not used yet."""

    purpose: LinkPurpose
    user_id: UserId | None
    address: str | None
    """Where it was mailed; None if an administrator made it."""
    created_at: datetime
    expires_at: datetime


def create_link(
    conn: Connection,
    purpose: LinkPurpose,
    *,
    user_id: UserId | None = None,
    address: str | None = None,
    created_by: UserId | None = None,
    life: timedelta | None = None,
) -> tuple[OneTimeLink, str]:
    """Creates a link; returns it and the secret for its address, which is stored nowhere.

    It replaces earlier links of the same person and purpose. A mailed recovery link replaces none:
    a stranger can ask for it.
    """
    is_asked_by_anybody = purpose is LinkPurpose.RECOVERY and address is not None
    if user_id is not None and not is_asked_by_anybody:
        end_links(conn, user_id, purpose)
    secret = secrets.token_urlsafe(32)
    link = fetch_one(
        conn,
        OneTimeLink,
        """insert into one_time_links (hash, purpose, user_id, address, created_by, expires_at)
        values (%s, %s, %s, %s, %s, now() + %s)
        returning purpose, user_id, address, created_at, expires_at""",
        (
            _hash_secret(secret),
            purpose,
            user_id,
            address,
            created_by,
            LIVES[purpose] if life is None else life,
        ),
    )
    return link, secret


def read_link(conn: Connection, purpose: LinkPurpose, secret: str) -> OneTimeLink:
    """Returns the link with this secret and leaves it valid. Raises NotFound."""
    return fetch_one(
        conn,
        OneTimeLink,
        """select purpose, user_id, address, created_at, expires_at from one_time_links
        where hash = %(hash)s and purpose = %(purpose)s and used_at is null
          and expires_at > now()""",
        {"hash": _hash_secret(secret), "purpose": purpose},
        NotFound(WRONG_LINK),
    )


def use_link(conn: Connection, purpose: LinkPurpose, secret: str) -> OneTimeLink:
    """Returns the link with this secret and uses it up. Raises NotFound, also for a second use."""
    return fetch_one(
        conn,
        OneTimeLink,
        """update one_time_links set used_at = now()
        where hash = %(hash)s and purpose = %(purpose)s and used_at is null and expires_at > now()
        returning purpose, user_id, address, created_at, expires_at""",
        {"hash": _hash_secret(secret), "purpose": purpose},
        NotFound(WRONG_LINK),
    )


def delete_old_links(conn: Connection) -> int:
    """Deletes links a week after their creation; none lives that long. Returns how many."""
    return conn.execute(
        "delete from one_time_links where created_at < now() - interval '7 days'"
    ).rowcount


def end_links(conn: Connection, user_id: UserId, purpose: LinkPurpose) -> None:
    """Ends the unused links of this person and purpose."""
    query = """update one_time_links set expires_at = now()
        where user_id = %(user_id)s and purpose = %(purpose)s and used_at is null
          and expires_at > now()"""
    conn.execute(query, {"user_id": user_id, "purpose": purpose})


def count_recent_links(
    conn: Connection, user_id: UserId, purpose: LinkPurpose, span: timedelta
) -> int:
    """The number of links of this purpose that were mailed for this person in this time."""
    query = """select count(*) from one_time_links
        where user_id = %(user_id)s and purpose = %(purpose)s and address is not null
          and created_at > now() - %(span)s"""
    return fetch_one(conn, int, query, {"user_id": user_id, "purpose": purpose, "span": span})


def count_links_to(conn: Connection, address: str, purpose: LinkPurpose, span: timedelta) -> int:
    """The number of links of this purpose that were mailed to this address in this time."""
    query = """select count(*) from one_time_links
        where lower(address) = lower(%(address)s) and purpose = %(purpose)s
          and created_at > now() - %(span)s"""
    return fetch_one(conn, int, query, {"address": address, "purpose": purpose, "span": span})


def _hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
