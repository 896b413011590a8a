"""Calls the SQL functions by which a worker claims, keeps and finishes a match.

``lease.sql`` has the rules. ``lease_finish`` refuses a late result; ``lease_reap`` takes a match
from a dead worker. Call each function in its own transaction, because two calls in one would break
the order of locks (matches, season, entries, scrims).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.types.json import Jsonb

from ladder import ids
from ladder.database.db import Connection
from ladder.enums import MatchKind
from ladder.errors import LadderError
from ladder.ids import MatchId
from ladder.matches.matches import BATCH
from ladder.matches.records import (
    AttemptFault,
    EpisodeResult,
    FinishResult,
    ForkOrder,
    MatchOrder,
    SeatResult,
)

PROTOCOL: Final = "PK001"  # the SQL's own error code


class ProtocolError(LadderError):
    """A worker's call contradicts the lease protocol; the message says how."""


@dataclass(frozen=True, slots=True)
class ReapCounts:
    """Counts of the expired leases, by outcome."""

    requeued: int
    voided: int


def claim_match(conn: Connection, match_id: MatchId, worker: str) -> MatchOrder | None:
    """Starts the match's next attempt for this worker. Returns None if the worker gets no attempt.

    The order may be of another match: a waiting one that goes first.

    The worker gets none if the match is not queued, is past its deadline, or does not fit the
    worker. It gets none also within 10 seconds of its own attempt's end without a result, if
    another live worker can play the match. Raises ProtocolError if the worker is not registered.
    """
    with protocol_errors():
        row = conn.execute("select lease_claim(%s, %s)", (match_id, worker)).fetchone()
    assert row is not None
    return _match_order(row[0])


def claim_next_match(conn: Connection, finished: MatchId, worker: str) -> MatchOrder | None:
    """Claims another match of the queue of a finished one, like ``claim_match``.

    So a worker under load needs no wake-up message for each match. Matches whose message is on its
    way are left to it. Returns None if no other match waits that this worker can play.
    """
    with protocol_errors():
        row = conn.execute("select lease_claim_next(%s, %s)", (finished, worker)).fetchone()
    assert row is not None
    return _match_order(row[0])


def waiting_matches(conn: Connection, worker: str, most: int) -> list[MatchId]:
    """Matches that this worker could claim now, taken in turn from each of its queues.

    A worker asks while Redis brings no messages. Another worker may claim them first.
    """
    rows = conn.execute("select * from lease_waiting(%s, %s)", (worker, most))
    return [MatchId(row[0]) for row in rows]


def _match_order(order: dict[str, Any] | None) -> MatchOrder | None:
    if order is None:
        return None
    return MatchOrder(
        **{
            **order,
            "excused_seats": frozenset(order["excused_seats"]),
            "kind": MatchKind(order["kind"]),
            "seed": bytes.fromhex(order["seed"]),
            "profiles": tuple(order["profiles"]),
            "digests": tuple(order["digests"]),
            "fork": _fork_order(order.get("fork")),
        }
    )


def _fork_order(value: dict[str, Any] | None) -> ForkOrder | None:
    if value is None:
        return None
    return ForkOrder(
        replay_digest=value["replay_digest"],
        step=value["step"],
        seed=bytes.fromhex(value["seed"]) if value["draws"] == "record" else None,
        moves={int(seat): tuple(moves) for seat, moves in value["moves"].items()},
    )


def renew_leases(
    conn: Connection, held: Sequence[tuple[MatchId, int]]
) -> list[tuple[MatchId, int]]:
    """Extends these (match, attempt) leases of a run directory; returns those still in force."""
    rows = conn.execute(
        "select match_id, attempt from lease_renew(%s, %s)",
        ([match_id for match_id, _ in held], [attempt for _, attempt in held]),
    )
    return [(MatchId(match_id), attempt) for match_id, attempt in rows]


def finish_match(
    conn: Connection,
    match_id: MatchId,
    attempt: int,
    worker: str,
    seats: Sequence[SeatResult],
    episodes: Sequence[EpisodeResult],
    *,
    node: str,
    image_digest: str,
    rules_digest: str,
) -> FinishResult:
    """Records the result if this attempt still holds the match; otherwise returns LATE.

    A rated result gets a number in the season's log; a rejudged match also withdraws the old
    result. A validation result decides whether the entry becomes active. A scrim counts the match.
    Raises ProtocolError for a result that does not fit the match.
    """
    with protocol_errors():
        row = conn.execute(
            "select lease_finish(%s, %s, %s, %s, %s, %s, %s, %s)",
            (
                match_id,
                attempt,
                worker,
                Jsonb([asdict(seat) for seat in seats]),
                Jsonb(
                    [
                        {"id": ids.new_id("epi"), "position": position, **asdict(episode)}
                        for position, episode in enumerate(episodes)
                    ]
                ),
                node,
                image_digest,
                rules_digest,
            ),
        ).fetchone()
    assert row is not None
    return FinishResult(row[0])


def fail_attempt(
    conn: Connection,
    match_id: MatchId,
    attempt: int,
    worker: str,
    fault: AttemptFault,
) -> bool:
    """Ends an attempt without a result: the match is queued again, or void after its last attempt.

    Returns False if the attempt no longer held the match.
    """
    row = conn.execute(
        "select lease_fail(%s, %s, %s, %s, %s, %s)",
        (match_id, attempt, worker, fault.whose, fault.cause, fault.detail),
    ).fetchone()
    assert row is not None
    return bool(row[0])


def reap_lapsed_leases(conn: Connection) -> ReapCounts:
    """Takes back matches whose lease has expired."""
    row = conn.execute("select requeued, voided from lease_reap(%s)", (BATCH,)).fetchone()
    assert row is not None
    return ReapCounts(*row)


@contextmanager
def protocol_errors() -> Iterator[None]:
    """Raises ProtocolError for error PK001 and for a violated check of a table."""
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate != PROTOCOL and not isinstance(error, errors.CheckViolation):
            raise
        raise ProtocolError(error.diag.message_primary or "") from None
