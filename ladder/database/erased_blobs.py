"""Deletes blobs that no row names: those of deleted accounts, and what the store has left over.

The rows of ``erased_blobs`` are the queue. Equal bytes are one blob. So an upload of the same bytes
locks the digest until its row exists, and the deletion waits for it. ``check_blobs`` compares the
blobs of the store with the rows that name them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ladder.database.blobs import Blobs, ObjectStoreBlobs
from ladder.database.db import Connection

LOCK: Final = 0x626C6F62  # "blob": class of the advisory locks, one per digest
BATCH: Final = 500
"""Most digests in one transaction: each takes a lock of the server."""
NAMED: Final = """select s.digest from submissions s join agents a on a.id = s.agent_id
    join teams t on t.id = a.team_id
    where s.digest = any (%(digests)s) and t.erased_at is null
    union
    select log_digest from seats
    where log_digest = any (%(digests)s)
    union
    select digest from pictures
    where digest = any (%(digests)s)
    union
    select replay_digest from episodes
    where replay_digest = any (%(digests)s)"""
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


FILL: Final = """
insert into named_blobs (source, digest)
select 'submissions', s.digest from submissions s join agents a on a.id = s.agent_id
  join teams t on t.id = a.team_id where t.erased_at is null
union select 'episodes', replay_digest from episodes
union select 'seats', log_digest from seats where log_digest is not null
union select 'pictures', digest from pictures where digest is not null
"""
"""SQL: the digests that the rows of each table name."""
MISSING: Final = """
select source, digest from named_blobs n
where not exists (select from stored_blobs b where b.digest = n.digest) order by source, digest
"""
UNNAMED: Final = """
select digest from stored_blobs b where stored_at < now() - interval '1 day'
  and not exists (select from named_blobs n where n.digest = b.digest) order by digest
"""
"""SQL: a blob is stored before its row, so younger blobs may still get one."""


@dataclass(frozen=True, slots=True)
class BlobReport:
    """What a comparison found."""

    blobs: int
    """Number of blobs in the store."""
    missing: tuple[tuple[str, str], ...]
    """Table and digest of rows whose bytes are missing, ordered."""
    unnamed: tuple[str, ...]
    """Digests of blobs that are older than a day and that no row names, ordered."""


def check_blobs(conn: Connection, blobs: ObjectStoreBlobs) -> BlobReport:
    """Compares all blobs with all rows, in one transaction. Raises BlobsUnavailable."""
    with conn.transaction():
        # Rows first: a blob is stored before its row, so the store then has the blob of each row.
        conn.execute("create temporary table named_blobs (source text, digest text) on commit drop")
        conn.execute(FILL)
        conn.execute(
            "create temporary table stored_blobs"
            " (digest text primary key, stored_at timestamptz not null) on commit drop"
        )
        copy = "copy stored_blobs (digest, stored_at) from stdin"
        with conn.cursor() as cursor, cursor.copy(copy) as rows:
            count = 0
            for digest, stored_at in blobs.digests():
                rows.write_row((digest, stored_at))
                count += 1
        missing = tuple((str(source), str(digest)) for source, digest in conn.execute(MISSING))
        unnamed = tuple(str(digest) for (digest,) in conn.execute(UNNAMED))
        return BlobReport(count, missing, unnamed)


def delete_unnamed(conn: Connection, report: BlobReport) -> None:
    """Queues the unnamed blobs for deletion. The scheduler deletes those that still have no row."""
    with conn.transaction():
        queue_blobs(conn, report.unnamed)
