"""Counts and removes the credentials of a person: password, passkeys, identities.

Nobody removes their last credential: that person could not sign in again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import LiteralString

from ladder.database.db import Connection, atomic_function, fetch_one
from ladder.errors import Conflict, NotFound
from ladder.ids import IdentityId, PasskeyId, UserId

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
