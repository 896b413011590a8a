"""Stores answers for repeated POST requests with the same Idempotency-Key.

``begin_request`` and ``store_answer`` run in the transaction that does the work. A second request
with the key waits for the first one. Then it gets the stored answer, or does the work if the first
one failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection
from ladder.enums import Json
from ladder.errors import Conflict
from ladder.ids import UserId

KEEP_HOURS: Final = 24


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer to the first request."""

    status: int
    body: Json


def begin_request(
    conn: Connection, user_id: UserId, key: str, request_digest: str
) -> StoredAnswer | None:
    """Returns the stored answer. None: do the work and ``store_answer`` in this transaction.

    Raises Conflict if the key was used for a different request. Raises Conflict also if another
    transaction began the request and stored no answer.
    """
    inserted = conn.execute(
        """insert into idempotency_keys (user_id, key, request_digest)
        values (%(user_id)s, %(key)s, %(request_digest)s) on conflict (user_id, key) do nothing""",
        {"user_id": user_id, "key": key, "request_digest": request_digest},
    )
    if inserted.rowcount == 1:
        return None
    row = conn.execute(
        "select request_digest, status, body from idempotency_keys where user_id = %s and key = %s",
        (user_id, key),
    ).fetchone()
    if row is None or row[1] is None:
        raise Conflict(
            "idempotency key: the first request with this key is still running; try again"
        )
    if row[0] != request_digest:
        raise Conflict("idempotency key: this key was used for a different request; use a new key")
    return StoredAnswer(row[1], row[2])


def store_answer(conn: Connection, user_id: UserId, key: str, status: int, body: Json) -> None:
    """Stores the answer of a request that ``begin_request`` accepted."""
    conn.execute(
        "update idempotency_keys set status = %s, body = %s where user_id = %s and key = %s",
        (status, Jsonb(body), user_id, key),
    )


def delete_old_answers(conn: Connection) -> int:
    """Deletes answers older than KEEP_HOURS; returns how many. The scheduler calls this."""
    return conn.execute(
        "delete from idempotency_keys where created_at < now() - make_interval(hours => %s)",
        (KEEP_HOURS,),
    ).rowcount
