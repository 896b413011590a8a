"""Deletes blobs of deleted accounts, unless another row names them.

The rows of ``erased_blobs`` are the queue. Equal bytes are one blob. So an upload of the same bytes
locks the digest until its row exists, and the deletion waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ladder.database.blobs import Blobs
from ladder.database.db import Connection

LOCK: Final = 0x626C6F62  # "blob": class of the advisory locks, one per digest
BATCH: Final = 500
"""Most digests in one transaction: each takes a lock of the server."""
NAMED: Final = (
    "select s.digest from submissions s join agents a on a.id = s.agent_id"
    " join teams t on t.id = a.team_id where s.digest = any (%(digests)s) and t.erased_at is null"
    " union select log_digest from seats where log_digest = any (%(digests)s)"
    " union select digest from pictures where digest = any (%(digests)s)"
    " union select replay_digest from episodes where replay_digest = any (%(digests)s)"
)
"""SQL: those of the digests that a row still names."""


def keep_blob(conn: Connection, digest: str) -> None:
    """Lets no deletion remove this blob before the caller's transaction ends."""
    conn.execute("select pg_advisory_xact_lock_shared(%s, hashtext(%s))", (LOCK, digest))


def queue_blobs(conn: Connection, digests: Iterable[str]) -> None:
    """Queues blobs for deletion; a repeat changes nothing."""
    conn.execute(
        "insert into erased_blobs (digest) select unnest(%s::text[]) on conflict do nothing",
        (sorted(set(digests)),),
    )


def delete_queued_blobs(conn: Connection, blobs: Blobs) -> int:
    """Deletes the next queued blobs that no row names; returns how many left the queue."""
    with conn.transaction():
        digests = [
            row[0]
            for row in conn.execute(
                "select digest from erased_blobs order by digest limit %s", (BATCH,)
            )
        ]
        if not digests:
            return 0
        for digest in digests:
            conn.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", (LOCK, digest))
        named = {row[0] for row in conn.execute(NAMED, {"digests": digests})}
        for digest in digests:
            if digest not in named:
                blobs.delete(digest)
        conn.execute("delete from erased_blobs where digest = any (%s)", (digests,))
        return len(digests)
