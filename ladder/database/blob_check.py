"""Compares the blobs of the store with the rows that name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ladder.database.blobs import ObjectStoreBlobs
from ladder.database.db import Connection
from ladder.database.erased_blobs import queue_blobs

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
