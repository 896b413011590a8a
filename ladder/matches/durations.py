"""Reads how long accepted matches waited and played, from the seasons' logs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from ladder.database.db import Connection
from ladder.ids import SeasonId

MOST: Final = 5000
"""Highest number of matches per call."""
USUAL_SAMPLE: Final = 20
"""Number of a season's last matches whose mean is its usual duration."""
KEPT_SECONDS: Final = 5.0
"""Lifetime of the cache in ``UsualSeconds``."""


@dataclass(frozen=True, slots=True)
class MatchDuration:
    """Times of one accepted match."""

    season_id: SeasonId
    no: int
    """Its number in the season's log."""
    waited_seconds: float
    """From its creation to the claim of the attempt that counted."""
    played_seconds: float
    """From that claim to the result."""


def durations_since(conn: Connection, cursors: Mapping[SeasonId, int]) -> list[MatchDuration]:
    """Returns the matches accepted after each season's given log number, in log order."""
    with conn.cursor(row_factory=class_row(MatchDuration)) as cur:
        return cur.execute(
            """
            select a.season_id, a.no,
            extract(epoch from m.claimed_at - m.created_at)::float8 as waited_seconds,
            extract(epoch from m.finished_at - m.claimed_at)::float8 as played_seconds
            from unnest(%s::text[], %s::bigint[]) as c(season_id, read_to)
            join acceptances a on a.season_id = c.season_id and a.no > c.read_to
            join matches m on m.id = a.match_id
            where a.act = 'accept' and m.claimed_at is not null and m.finished_at is not null
            order by a.no limit %s
            """,
            (list(cursors), list(cursors.values()), MOST),
        ).fetchall()


class UsualSeconds:
    """Usual duration of a season's rated matches; cached for some seconds."""

    def __init__(self) -> None:
        self._known: dict[SeasonId, tuple[float, float]] = {}

    def of(self, conn: Connection, season_id: SeasonId) -> float:
        """Returns the mean seconds from claim to result; 1 before the first match."""
        at, seconds = self._known.get(season_id, (-math.inf, 1.0))
        if time.monotonic() - at > KEPT_SECONDS:
            row = conn.execute(
                """
                select avg(extract(epoch from m.finished_at - m.claimed_at)) from (
                  select match_id from acceptances where season_id = %s and act = 'accept'
                  order by no desc limit %s) a join matches m on m.id = a.match_id
                """,
                (season_id, USUAL_SAMPLE),
            ).fetchone()
            assert row is not None
            seconds = 1.0 if row[0] is None else max(0.001, float(row[0]))
            self._known[season_id] = (time.monotonic(), seconds)
        return seconds
