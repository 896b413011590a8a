"""Blobs that a machine may read and store, which its leases decide.

While a worker of the machine holds the lease of a match, the machine may read the bundles of the
match and the replay that the match continues. It may store a bounded number of bytes for each
lease. A result of the machine may name these blobs alone (lease.sql).
"""

from __future__ import annotations

from typing import Final

from ladder.database.db import Connection, atomic_function, exists, fetch_one, insert
from ladder.errors import Conflict, NotFound
from ladder.ids import MachineId, MatchId

MOST_BYTES: Final = 64 << 20
"""Largest blob, which is also the largest replay."""
LEASE_BYTES: Final = 256 << 20
"""Bytes that a machine may store for one lease."""
LEAST_CHARGE_BYTES: Final = 4096
"""Small blobs count so much, because each takes a file."""
HELD: Final = """with held as (
select id, attempt, scrim_id from matches
 where machine_id = %(machine)s and state = 'running' and lease_until > now())
"""
READABLE: Final = (
    HELD
    + """
select 1 from held h join seats t on t.match_id = h.id
  join submissions b on b.id = t.submission_id where b.digest = %(digest)s
 union all
select 1 from held h join forks f on f.scrim_id = h.scrim_id
  join episodes e on e.match_id = f.match_id and e.position = f.position
 where e.replay_digest = %(digest)s limit 1
"""
)
LEAST_USED: Final = (
    HELD
    + """
select h.id, h.attempt, coalesce(sum(u.size_bytes), 0)::bigint as stored,
       coalesce(bool_or(u.digest = %(digest)s), false) as again
  from held h left join machine_uploads u on u.match_id = h.id and u.attempt = h.attempt
   and u.machine_id = %(machine)s
 group by h.id, h.attempt order by again desc, stored limit 1
"""
)


def require_readable(conn: Connection, machine: MachineId, digest: str) -> None:
    """Raises NotFound unless a lease of the machine needs this blob."""
    if not exists(conn, READABLE, {"machine": machine, "digest": digest}):
        raise NotFound.of("blob")


def require_lease(conn: Connection, machine: MachineId) -> None:
    """Raises NotFound unless the machine holds a lease."""
    query = """select 1 from matches
        where machine_id = %s and state = 'running' and lease_until > now()"""
    if not exists(conn, query, (machine,)):
        raise NotFound("this machine holds no lease, so it may store nothing")


@atomic_function
def record_upload(conn: Connection, machine: MachineId, digest: str, size_bytes: int) -> None:
    """Charges the blob to the lease that stored least; a blob that a lease stored before costs
    nothing. Raises NotFound without a lease, Conflict if every lease has stored its share."""
    require_lease(conn, machine)
    conn.execute("select 1 from machines where id = %s for no key update", (machine,))
    match_id, attempt, stored_bytes, is_stored = fetch_one(
        conn,
        tuple[MatchId, int, int, bool],
        LEAST_USED,
        {"machine": machine, "digest": digest},
    )
    charge_bytes = max(size_bytes, LEAST_CHARGE_BYTES)
    if is_stored:
        return
    if stored_bytes + charge_bytes > LEASE_BYTES:
        raise Conflict(
            f"a lease allows {LEASE_BYTES} bytes, and this machine stored {stored_bytes}"
        )
    insert(
        conn,
        "machine_uploads",
        machine_id=machine,
        match_id=match_id,
        attempt=attempt,
        digest=digest,
        size_bytes=charge_bytes,
    )


def delete_old_uploads(conn: Connection) -> int:
    """Deletes rows of leases that ended long ago; the blobs stay. Returns how many."""
    return conn.execute(
        "delete from machine_uploads where uploaded_at < now() - interval '1 day'"
    ).rowcount
