"""Folding the season's log into ratings: in order of acceptance, each number exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from ladder.database.db import Connection, atomic_function
from ladder.errors import NotFound
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.leagues import seasons
from ladder.ratings import online, rerating, solo_seasons
from ladder.ratings.online import RatedResult, Rating, RatingParameters
from ladder.ratings.rerating import Rerating

RATER_LOCK: Final = 0x72617465  # "rate": class of the advisory locks, one per season
WITH_WITHDRAWALS: Final = 25
"""Times as many numbers are folded at once where results are withdrawn: one replay serves all."""


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
    """Ratings while a stretch of the log is folded in, and the rows that record it."""

    ratings: dict[EntryId, Rating]
    games: Counter[EntryId] = field(default_factory=Counter)
    last: dict[EntryId, MatchId] = field(default_factory=dict)
    since: set[MatchId] = field(default_factory=set)
    """Accepted in this stretch, after the last replay if there was one."""
    replay: Rerating | None = None
    """What the stretch withdraws is out of the ratings by now."""
    rows: list[tuple[int, EntryId, MatchId, Rating, Rating]] = field(default_factory=list)

    def move(self, no: int, match_id: MatchId, after: dict[EntryId, Rating]) -> None:
        for entry, new in sorted(after.items()):
            self.rows.append((no, entry, match_id, self.ratings[entry], new))
            self.ratings[entry] = new

    def stay(self, no: int, match_id: MatchId, entries: Iterable[EntryId]) -> None:
        """The number of the log has been counted and has moved no rating."""
        self.move(no, match_id, {entry: self.ratings[entry] for entry in entries})


@atomic_function
def rate_season(conn: Connection, season_id: SeasonId, limit: int = 200) -> int:
    """Folds up to ``limit`` numbers of the season's log into the ratings; returns how many.

    One rater per season at a time (advisory lock of the transaction); the caller commits. A
    withdrawal rates the whole standing log anew, so ratings remain a pure function of its prefix;
    the first one takes out what the rest of the stretch withdraws too, and where there is one the
    stretch is longer than ``limit``. Of a long log that is done a piece a call, so that other
    seasons have their turn: such a call folds nothing yet, writes down how far it came, and returns
    how many results it rated anew. In a season of one seat nobody's rating moves, and totals of
    its measures grow instead; whoever loses a result is added up anew once, at the stretch's end.
    A disqualification moves nobody here: live ratings tell what was played, the official fit what
    counts. Raises NotFound.
    """
    conn.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", (RATER_LOCK, season_id))
    season = conn.execute(
        "select mu0, sigma0, beta, tau, draw_probability, fault_rule, rated_no, measures"
        " from seasons where id = %s",
        (season_id,),
    ).fetchone()
    if season is None:
        raise NotFound.of("season")
    parameters, rated_no = RatingParameters(*season[:6]), season[6]
    measures = seasons.measures_of(season[7])
    totals = solo_seasons.MeasureTotals(conn, season_id, measures)
    replay = rerating.unfinished_rerating(conn, season_id, parameters, rated_no)
    log = _next_log_entries(
        conn, season_id, rated_no, limit, None if replay is None else replay.until
    )
    if not log:
        return 0
    until = log[-1][0]
    first = next((no for no, _, act in log if act == "withdraw"), None)
    if first is not None and not measures:
        replay = replay or Rerating(season_id, parameters, until)
        rated = replay.go_on(conn, first, rerating.AT_ONCE)
        if replay.no < first - 1:
            rerating.save_rerating(conn, replay)
            return rated
    results = rerating.select_results(
        conn, [match_id for _, match_id, _ in log if match_id is not None]
    )
    played = {entry for result in results.values() for entry in result.entries}
    state = _RatingUpdate(_select_ratings(conn, season_id, played))
    if measures:
        totals.load(played)
    lost = set[EntryId]()
    for no, match_id, act in log:
        if match_id is None:
            continue
        result = results[match_id]
        if act == "accept":
            if measures:
                totals.add(match_id)
                state.stay(no, match_id, result.entries)
            else:
                state.move(no, match_id, online.rate_result(parameters, state.ratings, result))
            state.since.add(match_id)
            for entry in set(result.entries):
                state.games[entry] += 1
                state.last[entry] = match_id
        else:
            if measures:
                lost.update(result.entries)
                state.stay(no, match_id, result.entries)
            elif replay is not None and (state.replay is None or match_id in state.since):
                replay.go_on(conn, no)
                own = _lost_results(log, results, no, state)
                _apply_rerating(conn, season_id, replay, state, no, match_id, own)
            for entry in set(result.entries):
                state.games[entry] -= 1
    overturned = any(act != "accept" for _, _, act in log)
    _write_ratings(conn, season_id, state, until, overturned=overturned)
    rerating.delete_rerating(conn, season_id)
    if measures:
        totals.add_anew(lost, until)
        totals.write()
    return len(log)


def seasons_to_rate(conn: Connection) -> list[SeasonId]:
    """Seasons whose log is ahead of their ratings."""
    rows = conn.execute("select id from seasons where rated_no < accepted_no order by id")
    return [SeasonId(row[0]) for row in rows]


def rating_curve(conn: Connection, entry_id: EntryId, limit: int = 500) -> list[RatingPoint]:
    """The last ``limit`` steps of an entry's rating, oldest first."""
    with conn.cursor(row_factory=class_row(RatingPoint)) as cur:
        points = cur.execute(
            "select no, match_id, created_at as at, mu_before, sigma_before, mu, sigma"
            " from ratings where entry_id = %s order by no desc limit %s",
            (entry_id, limit),
        ).fetchall()
    return points[::-1]


def _next_log_entries(
    conn: Connection, season_id: SeasonId, after: int, limit: int, until: int | None
) -> list[tuple[int, MatchId | None, str]]:
    """The next numbers of the log: ``limit`` of them, or more where one withdraws a result; those
    ``until`` then where a replay that has begun says so."""
    sizes = (limit, WITH_WITHDRAWALS * limit) if until is None else (until - after,)
    for most in sizes:
        log = conn.execute(
            "select no, match_id, act from acceptances where season_id = %s and no > %s"
            " order by no limit %s",
            (season_id, after, most),
        ).fetchall()
        if len(log) < most or all(act != "withdraw" for _, _, act in log):
            break
    return log


def _lost_results(
    log: Sequence[tuple[int, MatchId | None, str]],
    results: Mapping[MatchId, RatedResult],
    no: int,
    state: _RatingUpdate,
) -> dict[EntryId, MatchId]:
    """For each entry that loses a result by the replay at this number: the first such result."""
    own: dict[EntryId, MatchId] = {}
    later = set[MatchId]()
    for at, match_id, act in log:
        if at < no or match_id is None:
            continue
        if act == "accept":
            later.add(match_id)
        elif match_id in state.since if state.replay else match_id not in later:
            for entry in results[match_id].entries:
                own.setdefault(entry, match_id)
    return own


def _apply_rerating(
    conn: Connection,
    season_id: SeasonId,
    replay: Rerating,
    state: _RatingUpdate,
    no: int,
    match_id: MatchId,
    own: Mapping[EntryId, MatchId],
) -> None:
    """Moves everybody to where the replay has them, this match and more being out. An entry's row
    names the match of its ``own`` that went, or this one."""
    everybody = _select_ratings(conn, season_id, None)
    state.ratings = {**everybody, **state.ratings}
    for entry, now in sorted(state.ratings.items()):
        new = replay.rating(entry)
        if new != now:
            state.move(no, own.get(entry, match_id), {entry: new})
    state.replay, state.since = replay, set()


def _select_ratings(
    conn: Connection, season_id: SeasonId, entries: Iterable[EntryId] | None
) -> dict[EntryId, Rating]:
    """Ratings as they stand, of these entries or (None) of the whole season."""
    wanted = None if entries is None else sorted(set(entries))
    rows = conn.execute(
        "select id, mu, sigma from entries where season_id = %s"
        " and (%s::text[] is null or id = any (%s))",
        (season_id, wanted, wanted),
    )
    return {EntryId(entry): Rating(mu, sigma) for entry, mu, sigma in rows}


def _write_ratings(
    conn: Connection, season_id: SeasonId, state: _RatingUpdate, rated_no: int, *, overturned: bool
) -> None:
    """Season first, then entries in order: the lock order of ``lease.sql``.

    Where what had counted no longer does, the official standing is due at once.
    """
    conn.execute(
        "update seasons set rated_no = %s, revision = revision + 1,"
        " official_is_stale = official_is_stale or %s where id = %s",
        (rated_no, overturned, season_id),
    )
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
            "update entries e set mu = %s, sigma = %s, games = games + %s,"
            " last_match_id = coalesce(%s, last_match_id),"
            " last_match_at = coalesce((select finished_at from matches where id = %s),"
            " last_match_at) where id = %s",
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
