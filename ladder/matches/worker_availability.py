"""Explains why no live worker can play a match."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ladder import runtime_profiles
from ladder.database.db import Connection
from ladder.matches.matches import queue_of
from ladder.matches.records import LineupSeat
from ladder.matches.workers import Worker

WAIT_MESSAGE = "it waits until one does"
GIVEN_UP_SECONDS: Final = 3600.0
"""After this time without a node for a profile, its entries no longer delay medals, and rejudged
matches that need it are refused.
"""


def why_no_worker_fits(
    workers: Sequence[Worker],
    *,
    queue: str,
    needed: Collection[str],
    speed_class: str = "any",
) -> str | None:
    """Returns why no live worker can play matches of these profiles; None if one can.

    The conditions are those of ``lease_fits`` in the SQL, each with its own message.
    """
    able = [worker for worker in workers if queue in worker.queues]
    for profile in sorted(needed):
        if not any(profile in worker.profiles for worker in able):
            return f"no node serves profile {profile} now; {WAIT_MESSAGE}"
    able = [worker for worker in able if set(needed) <= set(worker.profiles)]
    if not able:
        return (
            f"no node serves profiles {' and '.join(sorted(needed))} together now; {WAIT_MESSAGE}"
        )
    if runtime_profiles.needs_gpu(needed):
        able = [worker for worker in able if worker.gpu]
        if not able:
            return "its match needs a GPU and no node has one now; it waits for such a node"
    if speed_class != "any" and not any(worker.speed_class == speed_class for worker in able):
        return f"no node of speed class {speed_class} serves this now; {WAIT_MESSAGE}"
    return None


def why_no_worker_fits_lineup(
    workers: Sequence[Worker], lineup: Sequence[LineupSeat]
) -> str | None:
    """Returns the same for a rated match of this lineup, without its season's speed class."""
    needed = {seat.profile for seat in lineup}
    return why_no_worker_fits(workers, queue=queue_of("rated", needed), needed=needed)


def long_unserved_profiles(conn: Connection, wanted: Collection[str]) -> set[str]:
    """Returns the profiles that no worker served in the last GIVEN_UP_SECONDS.

    The result is empty unless a live worker has run that long: else a node may still start.
    """
    rows = conn.execute(
        """
        select p from unnest(%(wanted)s::text[]) p where exists (
          select 1 from workers where live_until > now()
          and started_at < now() - make_interval(secs => %(patience)s)
          and queues && '{play.cpu,play.gpu}') and not exists (select 1 from workers
          where seen_at > now() - make_interval(secs => %(patience)s) and p = any (profiles))
        """,
        {"wanted": list(wanted), "patience": GIVEN_UP_SECONDS},
    )
    return {row[0] for row in rows}
