"""Rates a season's log again from its start without withdrawn results, in pieces.

The result depends only on the log up to the end of the part that a rater processes. That part never
changes. So any rater can continue a re-rating at any number and gets the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.ratings import rating_updates
from ladder.ratings.rating_updates import RatedResult, Rating, RatingParameters

AT_ONCE: Final = 2000
"""Results in a piece: about one second of one core, during which other seasons wait."""


class Rerating:
    """Ratings from the log up to ``no``, without results withdrawn up to ``until``."""

    def __init__(self, season_id: SeasonId, parameters: RatingParameters, until: int) -> None:
        self.season_id, self.until = season_id, until
        self.no = 0
        self.ratings: dict[EntryId, Rating] = {}
        self._parameters = parameters

    def rate_next_results(self, conn: Connection, before: int, most: int | None = None) -> int:
        """Rates the log before this number, or the next ``most`` results; returns how many."""
        query = """select a.no, a.match_id from acceptances a
            where a.season_id = %s and a.no > %s and a.no < %s and a.act = 'accept'
              and not exists (select 1 from acceptances w
                where w.match_id = a.match_id and w.act = 'withdraw' and w.no <= %s) order by a.no
            limit %s"""
        rows = conn.execute(query, (self.season_id, self.no, before, self.until, most)).fetchall()
        results = select_results(conn, [match_id for _, match_id in rows])
        for _, match_id in rows:
            self.ratings.update(
                rating_updates.rate_result(self._parameters, self.ratings, results[match_id])
            )
        self.no = rows[-1][0] if len(rows) == most else max(self.no, before - 1)
        return len(rows)

    def rating(self, entry_id: EntryId) -> Rating:
        """Returns the entry's rating; the initial one without a valid result."""
        return self.ratings.get(entry_id, self._parameters.initial_rating)


def unfinished_rerating(
    conn: Connection, season_id: SeasonId, parameters: RatingParameters, rated_no: int
) -> Rerating | None:
    """Returns the season's unfinished re-rating, or None.

    None also if its part of the log is already processed: a rater of an earlier version leaves the
    row.
    """
    row = conn.execute(
        "select until, no, ratings from reratings where season_id = %s and until > %s",
        (season_id, rated_no),
    ).fetchone()
    if row is None:
        return None
    rerating = Rerating(season_id, parameters, row[0])
    rerating.no = row[1]
    rerating.ratings = {EntryId(entry): Rating(mu, sigma) for entry, (mu, sigma) in row[2].items()}
    return rerating


def save_rerating(conn: Connection, rerating: Rerating) -> None:
    """Saves the progress of a re-rating."""
    conn.execute(
        """insert into reratings (season_id, until, no, ratings) values (%s, %s, %s, %s)
        on conflict (season_id) do update set until = excluded.until, no = excluded.no,
          ratings = excluded.ratings""",
        (
            rerating.season_id,
            rerating.until,
            rerating.no,
            Jsonb({entry: [rating.mu, rating.sigma] for entry, rating in rerating.ratings.items()}),
        ),
    )


def delete_rerating(conn: Connection, season_id: SeasonId) -> None:
    """Deletes the re-rating after its part of the log is processed."""
    conn.execute("delete from reratings where season_id = %s", (season_id,))


def select_results(conn: Connection, match_ids: Sequence[MatchId]) -> dict[MatchId, RatedResult]:
    """Returns accepted matches for the rating."""
    query = """select match_id, array_agg(entry_id order by seat),
          array_agg(placement order by seat), array_agg(verdict <> 'DONE' order by seat)
        from seats
        where match_id = any (%(match_ids)s) group by match_id"""
    rows = conn.execute(query, {"match_ids": list(match_ids)})
    return {
        match_id: RatedResult(match_id, tuple(entries), tuple(placements), tuple(faults))
        for match_id, entries, placements, faults in rows
    }
