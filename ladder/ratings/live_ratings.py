"""Adds the season's log to the live ratings, in order, each number exactly once.

A re-rating rates the log again from its start without withdrawn results, in pieces. The result
depends only on the log up to the end of the part that a rater processes. That part never changes.
So any rater can continue a re-rating at any number and gets the same bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection, atomic_function, fetch
from ladder.errors import NotFound
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.leagues import seasons
from ladder.leagues.measures import Measure
from ladder.ratings import rating_updates, solo_seasons
from ladder.ratings.rating_updates import RatedResult, Rating, RatingParameters

RATER_LOCK: Final = 0x72617465  # "rate": class of the advisory locks, one per season
WITH_WITHDRAWALS: Final = 25
"""A part of the log that withdraws results may be this many times as long. One re-rating removes
all of them."""
_Log = Sequence[tuple[int, MatchId | None, str]]
"""Log number, match and act of each number in a part of the log."""
_Results = Mapping[MatchId, RatedResult]


@dataclass(frozen=True, slots=True)
class RatingPoint:
    """One step of an entry's rating curve."""

    no: int
    match_id: MatchId
    at: datetime
    mu_before: float
    sigma_before: float
    mu: float
    sigma: float


@dataclass(slots=True)
class _RatingUpdate:
    """Ratings during the processing of a part of the log, and the rows to write."""

    ratings: dict[EntryId, Rating]
    games: Counter[EntryId] = field(default_factory=Counter)
    last: dict[EntryId, MatchId] = field(default_factory=dict)
    since: set[MatchId] = field(default_factory=set)
    """Matches accepted in this part of the log, after the last re-rating if any."""
    rerating: Rerating | None = None
    """The re-rating that already removed what this part of the log withdraws."""
    rows: list[tuple[int, EntryId, MatchId, Rating, Rating]] = field(default_factory=list)

    def record_ratings(self, no: int, match_id: MatchId, after: dict[EntryId, Rating]) -> None:
        for entry, new in sorted(after.items()):
            self.rows.append((no, entry, match_id, self.ratings[entry], new))
            self.ratings[entry] = new

    def add_game(self, match_id: MatchId, result: RatedResult) -> None:
        self.since.add(match_id)
        for entry in set(result.entries):
            self.games[entry] += 1
            self.last[entry] = match_id

    def remove_game(self, result: RatedResult) -> None:
        for entry in set(result.entries):
            self.games[entry] -= 1

    def record_unchanged_ratings(
        self, no: int, match_id: MatchId, entries: Iterable[EntryId]
    ) -> None:
        """Records a log number that changes no rating."""
        self.record_ratings(no, match_id, {entry: self.ratings[entry] for entry in entries})


@atomic_function
def rate_season(conn: Connection, season_id: SeasonId, limit: int = 200) -> int:
    """Adds up to ``limit`` numbers of the season's log to the ratings; returns how many.

    One rater per season runs at a time (advisory lock of the transaction); the caller commits.

    After a withdrawal all remaining results are rated again, so the ratings depend only on the log
    up to this number. The first withdrawal removes all results that this part of the log withdraws.
    Such a part may be longer than ``limit``. A long log is rated again in pieces, one per call, so
    that other seasons get their turn. Such a call adds no number, saves its progress and returns
    the number of results rated again.

    In a season of one seat no rating changes; the totals of measures grow. If an entry loses
    results, its totals are computed again once, at the end of the part. Disqualifications change
    only the official fit, not live ratings. Raises NotFound.
    """
    conn.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", (RATER_LOCK, season_id))
    parameters, measures, rated_no = _read_season(conn, season_id)
    rerated = unfinished_rerating(conn, season_id, parameters)
    log = _next_log_entries(
        conn, season_id, rated_no, limit, None if rerated is None else rerated.until
    )
    if not log:
        return 0
    until = log[-1][0]
    first = next((no for no, _, act in log if act == "withdraw"), None)
    if first is not None and not measures:
        rerated = rerated or Rerating(season_id, parameters, until)
        rated = rerated.rate_next_results(conn, first, AT_ONCE)
        if rerated.no < first - 1:
            save_rerating(conn, rerated)
            return rated
    results = select_results(conn, [match_id for _, match_id, _ in log if match_id is not None])
    played = {entry for result in results.values() for entry in result.entries}
    state = _RatingUpdate(_select_ratings(conn, season_id, played))
    overturned = any(act != "accept" for _, _, act in log)
    if measures:
        totals = solo_seasons.MeasureTotals(conn, season_id, measures)
        totals.load(played)
        lost = _add_to_totals(totals, log, results, state)
    else:
        _rate_log(conn, parameters, log, results, state, rerated)
    _write_ratings(conn, season_id, state, until, overturned=overturned)
    delete_rerating(conn, season_id)
    if measures:
        totals.add_anew(lost, until)
        totals.write()
    return len(log)


def _read_season(
    conn: Connection, season_id: SeasonId
) -> tuple[RatingParameters, tuple[Measure, ...], int]:
    """Returns the season's parameters, its measures if it has one seat, and the last rated number.

    Raises NotFound.
    """
    query = """select mu0, sigma0, beta, tau, draw_probability, fault_rule, rated_no, measures
        from seasons
        where id = %(season_id)s"""
    season = conn.execute(query, {"season_id": season_id}).fetchone()
    if season is None:
        raise NotFound.of("season")
    return RatingParameters(*season[:6]), seasons.measures_from_json(season[7]), season[6]


def _add_to_totals(
    totals: solo_seasons.MeasureTotals, log: _Log, results: _Results, state: _RatingUpdate
) -> set[EntryId]:
    """Adds accepted results to the totals. Returns the entries that lose a result."""
    lost = set[EntryId]()
    for no, match_id, act in log:
        if match_id is None:
            continue
        result = results[match_id]
        state.record_unchanged_ratings(no, match_id, result.entries)
        if act == "accept":
            totals.add(match_id)
            state.add_game(match_id, result)
        else:
            lost.update(result.entries)
            state.remove_game(result)
    return lost


def _rate_log(
    conn: Connection,
    parameters: RatingParameters,
    log: _Log,
    results: _Results,
    state: _RatingUpdate,
    rerated: Rerating | None,
) -> None:
    """Rates the accepted results. Where one is withdrawn, sets the ratings to the re-rated ones."""
    for no, match_id, act in log:
        if match_id is None:
            continue
        result = results[match_id]
        if act == "accept":
            after = rating_updates.rate_result(parameters, state.ratings, result)
            state.record_ratings(no, match_id, after)
            state.add_game(match_id, result)
        else:
            if rerated is not None and (state.rerating is None or match_id in state.since):
                rerated.rate_next_results(conn, no)
                own = _lost_results(log, results, no, state)
                _apply_rerating(conn, rerated, state, no, match_id, own)
            state.remove_game(result)


def seasons_to_rate(conn: Connection) -> list[SeasonId]:
    """Returns seasons whose log is ahead of their ratings."""
    rows = conn.execute("select id from seasons where rated_no < accepted_no order by id")
    return [SeasonId(row[0]) for row in rows]


def rating_curve(conn: Connection, entry_id: EntryId, limit: int = 500) -> list[RatingPoint]:
    """Returns the last ``limit`` steps of an entry's rating, oldest first."""
    query = """select no, match_id, created_at as at, mu_before, sigma_before, mu, sigma
        from ratings
        where entry_id = %(entry_id)s order by no desc limit %(limit)s"""
    points = fetch(conn, RatingPoint, query, {"entry_id": entry_id, "limit": limit})
    return points[::-1]


def _next_log_entries(
    conn: Connection, season_id: SeasonId, after: int, limit: int, until: int | None
) -> list[tuple[int, MatchId | None, str]]:
    """Returns the next ``limit`` numbers of the log.

    More if one withdraws a result; those up to ``until`` if a re-rating has begun.
    """
    sizes = (limit, WITH_WITHDRAWALS * limit) if until is None else (until - after,)
    for most in sizes:
        log = conn.execute(
            """select no, match_id, act from acceptances
            where season_id = %(season_id)s and no > %(after)s order by no limit %(most)s""",
            {"season_id": season_id, "after": after, "most": most},
        ).fetchall()
        if len(log) < most or all(act != "withdraw" for _, _, act in log):
            break
    return log


def _lost_results(
    log: _Log, results: _Results, no: int, state: _RatingUpdate
) -> dict[EntryId, MatchId]:
    """Returns the first result that each entry loses by the re-rating at this number."""
    own: dict[EntryId, MatchId] = {}
    later = set[MatchId]()
    for at, match_id, act in log:
        if at < no or match_id is None:
            continue
        if act == "accept":
            later.add(match_id)
        elif match_id in state.since if state.rerating else match_id not in later:
            for entry in results[match_id].entries:
                own.setdefault(entry, match_id)
    return own


def _apply_rerating(
    conn: Connection,
    rerated: Rerating,
    state: _RatingUpdate,
    no: int,
    match_id: MatchId,
    own: Mapping[EntryId, MatchId],
) -> None:
    """Sets all ratings to those of the re-rating.

    The row of an entry in ``own`` names the match there: the first result that the entry loses.
    The rows of the other entries name ``match_id``.
    """
    everybody = _select_ratings(conn, rerated.season_id, None)
    state.ratings = {**everybody, **state.ratings}
    for entry, now in sorted(state.ratings.items()):
        new = rerated.rating(entry)
        if new != now:
            state.record_ratings(no, own.get(entry, match_id), {entry: new})
    state.rerating, state.since = rerated, set()


def _select_ratings(
    conn: Connection, season_id: SeasonId, entries: Iterable[EntryId] | None
) -> dict[EntryId, Rating]:
    """Returns current ratings of these entries or, for None, of the whole season."""
    entry_ids = None if entries is None else sorted(set(entries))
    query = """select id, mu, sigma from entries
        where season_id = %(season_id)s
          and (%(wanted)s::text[] is null or id = any (%(wanted)s))"""
    rows = conn.execute(query, {"season_id": season_id, "wanted": entry_ids})
    return {EntryId(entry): Rating(mu, sigma) for entry, mu, sigma in rows}


def _write_ratings(
    conn: Connection, season_id: SeasonId, state: _RatingUpdate, rated_no: int, *, overturned: bool
) -> None:
    """Writes the season first, then entries in order: the lock order of ``lease.sql``.

    If a counted result no longer counts, an official fit is due immediately.
    """
    query = """update seasons
        set rated_no = %(rated_no)s, rated_at = now(), revision = revision + 1,
          official_is_stale = official_is_stale or %(overturned)s
        where id = %(season_id)s"""
    conn.execute(query, {"rated_no": rated_no, "overturned": overturned, "season_id": season_id})
    with conn.cursor() as cur:
        with cur.copy(
            "copy ratings (season_id, no, entry_id, match_id, mu_before, sigma_before, mu, sigma)"
            " from stdin"
        ) as copy:
            for no, entry, match_id, old, new in state.rows:
                copy.write_row(
                    (season_id, no, entry, match_id, old.mu, old.sigma, new.mu, new.sigma)
                )
        touched = sorted({entry for _, entry, *_ in state.rows} | set(state.games))
        cur.executemany(
            """update entries e
            set mu = %s, sigma = %s, games = games + %s,
              last_match_id = coalesce(%s, last_match_id),
              last_match_at = coalesce(
                (select finished_at from matches where id = %s), last_match_at)
            where id = %s""",
            [
                (
                    state.ratings[entry].mu,
                    state.ratings[entry].sigma,
                    state.games[entry],
                    state.last.get(entry),
                    state.last.get(entry),
                    entry,
                )
                for entry in touched
            ],
        )


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
    conn: Connection, season_id: SeasonId, parameters: RatingParameters
) -> Rerating | None:
    """Returns the season's unfinished re-rating, or None."""
    row = conn.execute(
        "select until, no, ratings from reratings where season_id = %s", (season_id,)
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
