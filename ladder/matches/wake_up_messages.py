"""Picks the matches that are due for a wake-up message, which the scheduler sends.

A message only tells a worker to look at a row, and it may be lost. So a match is due again if its
message stays unanswered for some seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from ladder.database.db import Connection
from ladder.ids import MatchId
from ladder.matches.matches import queue_counts
from ladder.matches.workers import live_workers

WAKE_SECONDS: Final = 5.0  # a wake-up message unanswered for this long counts as lost
BUSY_WAKE_SECONDS: Final = 60.0
"""The same while no slot is free, when a missing answer does not mean a lost message."""
OPEN: Final = "open"
"""Queue of machines that are not trusted. It has messages for matches of several queues."""
WAKES_PER_SLOT: Final = 2
"""Unanswered messages per live slot. Redis holds work for seconds, Postgres the rest."""


def mark_due_matches_woken(conn: Connection) -> list[tuple[str, MatchId]]:
    """Marks matches as woken; returns (queue, match). Commit, then send a message for each.

    Each queue has at most WAKES_PER_SLOT unanswered messages per slot of its live workers.
    """
    slots = Counter[str]()
    workers = live_workers(conn)
    for worker in workers:
        slots.update(dict.fromkeys(worker.queues, worker.slots))
    playing = sum(queue.running for queue in queue_counts(conn))
    is_busy = playing >= sum(worker.slots for worker in workers)
    return mark_matches_woken(
        conn,
        {queue: WAKES_PER_SLOT * n for queue, n in slots.items()},
        wake_seconds=BUSY_WAKE_SECONDS if is_busy else WAKE_SECONDS,
    )


def mark_matches_woken(
    conn: Connection, per_queue: Mapping[str, int], *, wake_seconds: float = WAKE_SECONDS
) -> list[tuple[str, MatchId]]:
    """Marks matches as woken; returns (queue, match). Commit, then send a message for each.

    Each queue has at most ``per_queue`` unanswered messages, by turn, then oldest first. A message
    without an answer within ``wake_seconds`` is sent again. Matches that no live worker can play
    are skipped.
    Machines that are not trusted get what the others leave.
    """
    due = []
    for queue, most in sorted(per_queue.items(), key=lambda one: (one[0] == OPEN, one[0])):
        if queue == OPEN:
            rows = conn.execute("select lease_wake_open(%s, %s)", (most, wake_seconds))
        else:
            rows = conn.execute("select lease_wake(%s, %s, %s)", (queue, most, wake_seconds))
        due += [(queue, MatchId(row[0])) for row in rows]
    return due


def mark_matches_due_again(conn: Connection, match_ids: Sequence[MatchId]) -> None:
    """Marks matches due again, because their wake-up messages could not be sent."""
    conn.execute(
        """
        update matches set woken_at = null where id in (
        select id from matches where id = any (%s) and state = 'queued' order by id for update)
        """,
        (list(match_ids),),
    )
