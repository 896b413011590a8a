"""Which matches are due for a wake-up message. The scheduler sends the messages.

A message only tells a worker to look at a row, and it may be lost. So a match is due again when its
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
"""The same while no slot is free: an unanswered message is no sign of a lost one then."""
WAKES_PER_SLOT: Final = 2
"""Unanswered messages per live slot: Redis holds seconds of work, Postgres the backlog."""


def take_due(conn: Connection) -> list[tuple[str, MatchId]]:
    """Marks matches as woken and returns (queue, match): commit, then send a message for each.

    A queue has a small multiple of the slots of its live workers in unanswered messages.
    """
    slots = Counter[str]()
    workers = live_workers(conn)
    for worker in workers:
        slots.update(dict.fromkeys(worker.queues, worker.slots))
    playing = sum(queue.running for queue in queue_counts(conn))
    is_busy = playing >= sum(worker.slots for worker in workers)
    return take(
        conn,
        {queue: WAKES_PER_SLOT * n for queue, n in slots.items()},
        wake_seconds=BUSY_WAKE_SECONDS if is_busy else WAKE_SECONDS,
    )


def take(
    conn: Connection, per_queue: Mapping[str, int], *, wake_seconds: float = WAKE_SECONDS
) -> list[tuple[str, MatchId]]:
    """Marks matches as woken and returns (queue, match): commit, then send a message for each.

    Each queue has at most ``per_queue`` messages out, by turn, then oldest first. A message without
    an answer within ``wake_seconds`` is sent again. Matches no live worker could play are left.
    """
    due = []
    for queue, most in sorted(per_queue.items()):
        rows = conn.execute("select lease_wake(%s, %s, %s)", (queue, most, wake_seconds))
        due += [(queue, MatchId(row[0])) for row in rows]
    return due


def failed(conn: Connection, match_ids: Sequence[MatchId]) -> None:
    """The wake-up messages of these matches could not be sent: they are due again at once."""
    conn.execute(
        "update matches set woken_at = null where id in ("
        " select id from matches where id = any (%s) and state = 'queued' order by id for update)",
        (list(match_ids),),
    )
