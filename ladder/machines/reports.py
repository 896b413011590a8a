"""Results of machines that are not trusted, which wait until their replays are checked.

The match stays running meanwhile. A result that nobody checks within 10 minutes is lost, and the
match is queued again (lease.sql).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from ladder.database.db import Connection
from ladder.enums import Json
from ladder.ids import MachineId, MatchId

AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Report:
    """A reported result and what the match was to be."""

    match_id: MatchId
    attempt: int
    machine_id: MachineId
    game: str
    configuration: dict[str, Json]
    clock: dict[str, Json]
    seed: bytes
    seats: list[dict[str, Json]]
    """As the fields of `SeatResult`, with missing ones where the machine left them out."""
    episodes: list[dict[str, Json]]
    """As the fields of `EpisodeResult`."""


def are_waiting(conn: Connection) -> bool:
    """Whether a result waits for its check."""
    row = conn.execute("select exists (select 1 from machine_reports)").fetchone()
    return row is not None and bool(row[0])


def waiting_reports(conn: Connection, games: Sequence[str]) -> list[Report]:
    """The results of these games that wait, oldest first, at most AT_ONCE."""
    with conn.cursor(row_factory=class_row(Report)) as cur:
        return cur.execute(
            "select r.match_id, r.attempt, r.machine_id, s.game, s.configuration, s.clock, m.seed,"
            " r.seats, r.episodes from machine_reports r join matches m on m.id = r.match_id"
            " join seasons s on s.id = m.season_id where s.game = any (%s)"
            " order by r.reported_at, r.match_id limit %s",
            (list(games), AT_ONCE),
        ).fetchall()


def judge_report(conn: Connection, report: Report, mismatch: str | None) -> bool:
    """Lets the result count, or ends the attempt and counts the mismatch against the machine.
    False: the result waits no longer. Call it in a transaction of its own."""
    row = conn.execute(
        "select lease_judge(%s, %s, %s)", (report.match_id, report.attempt, mismatch)
    ).fetchone()
    assert row is not None
    return bool(row[0])
