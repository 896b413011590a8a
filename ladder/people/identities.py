"""Links accounts at identity providers to people, and finds the person of one.

An identity is a pair of issuer and subject. An address never links anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg import errors

from ladder import ids
from ladder.database.db import Connection, atomic, fetch, fetch_optional
from ladder.errors import Conflict
from ladder.ids import IdentityId, UserId
from ladder.people.identity_visits import ProvedIdentity

MOST_IDENTITIES: Final = 20


@dataclass(frozen=True, slots=True)
class Identity:
    """An account at a provider that signs a person in."""

    id: IdentityId
    user_id: UserId
    issuer: str
    label: str
    created_at: datetime
    used_at: datetime | None


def person_of_identity(conn: Connection, proved: ProvedIdentity) -> UserId | None:
    """Returns the person to whom this identity is linked; None if it is new here."""
    return fetch_optional(
        conn,
        UserId,
        """update identities i set used_at = now(), label = %(label)s from users u
        where i.issuer = %(issuer)s and i.subject = %(subject)s and u.id = i.user_id
          and u.erased_at is null returning u.id""",
        {"label": proved.label, "issuer": proved.issuer, "subject": proved.subject},
    )


def link_identity(conn: Connection, user_id: UserId, proved: ProvedIdentity) -> None:
    """Links an identity to this person; a repeat is no error.

    Raises Conflict if it is another person's, without saying whose, and above 20 identities.
    """
    if person_of_identity(conn, proved) == user_id:
        return
    if len(list_identities(conn, user_id)) >= MOST_IDENTITIES:
        raise Conflict(f"unlink an identity first: you have {MOST_IDENTITIES}")
    try:
        with atomic(conn):
            conn.execute(
                """insert into identities (id, user_id, issuer, subject, label, used_at)
                values (%s, %s, %s, %s, %s, now())""",
                (ids.new_id("idn"), user_id, proved.issuer, proved.subject, proved.label),
            )
    except errors.UniqueViolation:
        raise Conflict("use another account there: this one signs another person in here") from None


def list_identities(conn: Connection, user_id: UserId) -> list[Identity]:
    """Returns a person's identities, oldest first."""
    query = """select id, user_id, issuer, label, created_at, used_at from identities
        where user_id = %(user_id)s order by id"""
    return fetch(conn, Identity, query, {"user_id": user_id})
