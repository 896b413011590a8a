"""The lease of a match: how a worker claims, keeps and finishes it.

The rules are in SQL (``lease.sql``): ``lease_finish`` refuses a late result, ``lease_reap`` takes a
match from a worker that died. Each of its functions is one transaction: call one, commit, go on.
Rows are locked in one order (matches, season, entries, scrims), so a transaction must not mix
several of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final, Literal

import psycopg
from psycopg import errors
from psycopg.types.json import Jsonb

from ladder import ids
from ladder.database.db import Connection
from ladder.enums import MatchKind
from ladder.errors import LadderError
from ladder.ids import MatchId
from ladder.matches.matches import BATCH
from ladder.matches.records import EpisodeResult, FinishResult, MatchOrder, SeatResult

PROTOCOL: Final = "PK001"  # the SQL's own error code


class ProtocolError(LadderError):
    """A worker's call contradicts the lease protocol; the message says how."""


@dataclass(frozen=True, slots=True)
class ReapCounts:
    """What became of the leases that had run out."""

    requeued: int
    voided: int


def claim_match(conn: Connection, match_id: MatchId, worker: str) -> MatchOrder | None:
    """Takes the match for this worker's next attempt, or None: there is nothing to do.

    None when the match is not queued, past its deadline, not playable on this node, or refused
    for a moment because this worker failed it and another one can have it. Raises ProtocolError
    when the worker is not registered.
    """
    with protocol_errors():
        row = conn.execute("select lease_claim(%s, %s)", (match_id, worker)).fetchone()
    if row is None or row[0] is None:
        return None
    order = row[0]
    return MatchOrder(
        **{
            **order,
            "kind": MatchKind(order["kind"]),
            "seed": bytes.fromhex(order["seed"]),
            "profiles": tuple(order["profiles"]),
            "digests": tuple(order["digests"]),
        }
    )


def renew_leases(
    conn: Connection, held: Sequence[tuple[MatchId, int]]
) -> list[tuple[MatchId, int]]:
    """Extends these (match, attempt) leases, one call for a host; returns those still held."""
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
    """Records the result if this attempt still holds the match; else LATE, and nothing changes.

    Rated: the season's log accepts it (and withdraws the one it rejudges). Validation: its entry is
    active or rejected. Scrim: counted. Raises ProtocolError for a result that does not fit.
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
    fault: Literal["worker", "host", "game"],
    detail: str,
) -> bool:
    """Gives the attempt back: queued again, or void when its attempts are used up.
    False: it no longer held the match.
    """
    row = conn.execute(
        "select lease_fail(%s, %s, %s, %s, %s)", (match_id, attempt, worker, fault, detail)
    ).fetchone()
    assert row is not None
    return bool(row[0])


def reap_lapsed_leases(conn: Connection) -> ReapCounts:
    """Takes matches from workers whose lease ran out."""
    row = conn.execute("select requeued, voided from lease_reap(%s)", (BATCH,)).fetchone()
    assert row is not None
    return ReapCounts(*row)


@contextmanager
def protocol_errors() -> Iterator[None]:
    """Turns what the lease's own checks refuse into ProtocolError."""
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate != PROTOCOL and not isinstance(error, errors.CheckViolation):
            raise
        raise ProtocolError(error.diag.message_primary or "") from None
