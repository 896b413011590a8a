"""A season's log rated anew from its start without what a stretch of it withdraws, in pieces.

What is counted depends on the log up to the stretch's end alone, and that never changes. So a
replay may be left at any number and taken up again, by another rater too: it ends at the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.ratings import online
from ladder.ratings.online import RatedResult, Rating, RatingParameters

AT_ONCE: Final = 2000
"""Results in a piece: about a second of one core, in which other seasons' ratings wait."""


class Rerating:
    """Ratings by what stands of the log up to ``no``; what is withdrawn ``until`` then is out."""

    def __init__(self, season_id: SeasonId, parameters: RatingParameters, until: int) -> None:
        self.season_id, self.until = season_id, until
        self.no = 0
        self.ratings: dict[EntryId, Rating] = {}
        self._parameters = parameters

    def go_on(self, conn: Connection, before: int, most: int | None = None) -> int:
        """Rates what stands of the log before this number, or the next ``most`` results of it;
        returns how many there were."""
        rows = conn.execute(
            "select a.no, a.match_id from acceptances a where a.season_id = %s"
            " and a.no > %s and a.no < %s and a.act = 'accept' and not exists ("
            "   select 1 from acceptances w where w.match_id = a.match_id"
            "   and w.act = 'withdraw' and w.no <= %s) order by a.no limit %s",
            (self.season_id, self.no, before, self.until, most),
        ).fetchall()
        found = select_results(conn, [match_id for _, match_id in rows])
        for _, match_id in rows:
            self.ratings.update(online.rate_result(self._parameters, self.ratings, found[match_id]))
        self.no = rows[-1][0] if len(rows) == most else max(self.no, before - 1)
        return len(rows)

    def rating(self, entry_id: EntryId) -> Rating:
        """The entry's; the start where it has played nothing that stands."""
        return self.ratings.get(entry_id, self._parameters.start)


def unfinished_rerating(
    conn: Connection, season_id: SeasonId, parameters: RatingParameters, rated_no: int
) -> Rerating | None:
    """The season's replay as it was left; None where what it was for is folded, as a rater of an
    earlier version does that leaves the row."""
    row = conn.execute(
        "select until, no, ratings from reratings where season_id = %s and until > %s",
        (season_id, rated_no),
    ).fetchone()
    if row is None:
        return None
    replay = Rerating(season_id, parameters, row[0])
    replay.no = row[1]
    replay.ratings = {EntryId(entry): Rating(mu, sigma) for entry, (mu, sigma) in row[2].items()}
    return replay


def save_rerating(conn: Connection, replay: Rerating) -> None:
    """Writes down how far it is."""
    conn.execute(
        "insert into reratings (season_id, until, no, ratings) values (%s, %s, %s, %s)"
        " on conflict (season_id) do update set until = excluded.until, no = excluded.no,"
        " ratings = excluded.ratings",
        (
            replay.season_id,
            replay.until,
            replay.no,
            Jsonb({entry: [one.mu, one.sigma] for entry, one in replay.ratings.items()}),
        ),
    )


def delete_rerating(conn: Connection, season_id: SeasonId) -> None:
    """Drops it: its stretch is folded."""
    conn.execute("delete from reratings where season_id = %s", (season_id,))


def select_results(conn: Connection, match_ids: Sequence[MatchId]) -> dict[MatchId, RatedResult]:
    """Of accepted matches, as the rating sees them."""
    rows = conn.execute(
        "select match_id, array_agg(entry_id order by seat), array_agg(placement order by seat),"
        " array_agg(verdict <> 'DONE' order by seat) from seats where match_id = any (%s)"
        " group by match_id",
        (list(match_ids),),
    )
    return {
        match_id: RatedResult(match_id, tuple(entries), tuple(placements), tuple(faults))
        for match_id, entries, placements, faults in rows
    }
