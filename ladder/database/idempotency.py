"""Answers kept for a repeated POST with the same Idempotency-Key.

``begin_request`` and ``store_answer`` stand in the transaction that does the work: a second request
with the key waits until the first one is over, then gets its answer, or does the work if it failed.
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
    """What the first request was answered."""

    status: int
    body: Json


def begin_request(
    conn: Connection, user_id: UserId, key: str, request_digest: str
) -> StoredAnswer | None:
    """The kept answer, or None: do the work now and ``store_answer`` it in this transaction.

    Raises Conflict when the key was used for a different request, or for one that another
    transaction began and left without an answer.
    """
    made = conn.execute(
        "insert into idempotency_keys (user_id, key, request_digest) values (%s, %s, %s)"
        " on conflict (user_id, key) do nothing",
        (user_id, key, request_digest),
    )
    if made.rowcount == 1:
        return None
    row = conn.execute(
        "select request_digest, status, body from idempotency_keys where user_id = %s and key = %s",
        (user_id, key),
    ).fetchone()
    if row is None or row[1] is None:
        raise Conflict("idempotency key: the first request with it is not over; try again")
    if row[0] != request_digest:
        raise Conflict("idempotency key: it was used for a different request; draw a new one")
    return StoredAnswer(row[1], row[2])


def store_answer(conn: Connection, user_id: UserId, key: str, status: int, body: Json) -> None:
    """Keeps the answer of the request that ``begin_request`` let through."""
    conn.execute(
        "update idempotency_keys set status = %s, body = %s where user_id = %s and key = %s",
        (status, Jsonb(body), user_id, key),
    )


def delete_old_answers(conn: Connection) -> int:
    """Drops answers older than KEEP_HOURS; returns how many. Called by the scheduler."""
    return conn.execute(
        "delete from idempotency_keys where created_at < now() - make_interval(hours => %s)",
        (KEEP_HOURS,),
    ).rowcount
