"""Folding the season's log into ratings: in order of acceptance, each number exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from ladder import rating
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.model import NotFound
from ladder.rating import Parameters, Rating, Result
from ladder.store import leagues, solo
from ladder.store.db import Connection, whole

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
class _Fold:
    """Ratings while a stretch of the log is folded in, and the rows that record it."""

    ratings: dict[EntryId, Rating]
    games: Counter[EntryId] = field(default_factory=Counter)
    last: dict[EntryId, MatchId] = field(default_factory=dict)
    rows: list[tuple[int, EntryId, MatchId, Rating, Rating]] = field(default_factory=list)

    def move(self, no: int, match_id: MatchId, after: dict[EntryId, Rating]) -> None:
        for entry, new in sorted(after.items()):
            self.rows.append((no, entry, match_id, self.ratings[entry], new))
            self.ratings[entry] = new

    def stay(self, no: int, match_id: MatchId, entries: Iterable[EntryId]) -> None:
        """The number of the log has been counted and has moved no rating."""
        self.move(no, match_id, {entry: self.ratings[entry] for entry in entries})


@whole
def apply(conn: Connection, season_id: SeasonId, limit: int = 200) -> int:
    """Folds up to ``limit`` numbers of the season's log into the ratings; returns how many.

    One rater per season at a time (advisory lock of the transaction); the caller commits. A
    withdrawal rates the whole standing log anew, so ratings remain a pure function of its prefix;
    the first one takes out what the rest of the stretch withdraws too, and where there is one the
    stretch is longer than ``limit``. In a season of one seat nobody's rating moves, and totals of
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
        raise NotFound("there is no such season")
    parameters, rated_no = Parameters(*season[:6]), season[6]
    measures = leagues.measures_of(season[7])
    tally = solo.Tally(conn, season_id, measures)
    log = _stretch(conn, season_id, rated_no, limit)
    if not log:
        return 0
    until = log[-1][0]
    results = _results(conn, [match_id for _, match_id, _ in log if match_id is not None])
    played = {entry for result in results.values() for entry in result.entries}
    state = _Fold(_ratings(conn, season_id, played))
    if measures:
        tally.load(played)
    is_anew, since, lost = False, set[MatchId](), set[EntryId]()
    for no, match_id, act in log:
        if match_id is None:
            continue
        result = results[match_id]
        if act == "accept":
            if measures:
                tally.add(match_id)
                state.stay(no, match_id, result.entries)
            else:
                state.move(no, match_id, rating.fold(parameters, state.ratings, result))
            since.add(match_id)
            for entry in set(result.entries):
                state.games[entry] += 1
                state.last[entry] = match_id
        else:
            if measures:
                lost.update(result.entries)
                state.stay(no, match_id, result.entries)
            elif not is_anew or match_id in since:
                _withdraw(conn, season_id, parameters, state, no, match_id, until)
                is_anew, since = True, set()
            for entry in set(result.entries):
                state.games[entry] -= 1
    overturned = any(act != "accept" for _, _, act in log)
    _write(conn, season_id, state, until, overturned=overturned)
    if measures:
        tally.add_anew(lost, until)
        tally.write()
    return len(log)


def seasons_to_rate(conn: Connection) -> list[SeasonId]:
    """Seasons whose log is ahead of their ratings."""
    rows = conn.execute("select id from seasons where rated_no < accepted_no order by id")
    return [SeasonId(row[0]) for row in rows]


def curve(conn: Connection, entry_id: EntryId, limit: int = 500) -> list[RatingPoint]:
    """The last ``limit`` steps of an entry's rating, oldest first."""
    with conn.cursor(row_factory=class_row(RatingPoint)) as cur:
        points = cur.execute(
            "select no, match_id, created_at as at, mu_before, sigma_before, mu, sigma"
            " from ratings where entry_id = %s order by no desc limit %s",
            (entry_id, limit),
        ).fetchall()
    return points[::-1]


def _stretch(
    conn: Connection, season_id: SeasonId, after: int, limit: int
) -> list[tuple[int, MatchId | None, str]]:
    """The next numbers of the log: ``limit`` of them, or more where one withdraws a result."""
    for most in (limit, WITH_WITHDRAWALS * limit):
        log = conn.execute(
            "select no, match_id, act from acceptances where season_id = %s and no > %s"
            " order by no limit %s",
            (season_id, after, most),
        ).fetchall()
        if len(log) < most or all(act != "withdraw" for _, _, act in log):
            break
    return log


def _withdraw(
    conn: Connection,
    season_id: SeasonId,
    parameters: Parameters,
    state: _Fold,
    no: int,
    match_id: MatchId,
    until: int,
) -> None:
    """Moves everybody to where the log up to ``no`` puts them without what is withdrawn ``until``
    then, this match among it."""
    standing = conn.execute(
        "select a.match_id from acceptances a where a.season_id = %s and a.no < %s"
        " and a.act = 'accept' and not exists (select 1 from acceptances w"
        "   where w.match_id = a.match_id and w.act = 'withdraw' and w.no <= %s) order by a.no",
        (season_id, no, until),
    ).fetchall()
    results = _results(conn, [row[0] for row in standing])
    anew = rating.replay(parameters, (results[row[0]] for row in standing))
    everybody = _ratings(conn, season_id, None)
    state.ratings = {**everybody, **state.ratings}
    moved = {
        entry: anew.get(entry, parameters.start)
        for entry, now in state.ratings.items()
        if anew.get(entry, parameters.start) != now
    }
    state.move(no, match_id, moved)


def _results(conn: Connection, match_ids: Sequence[MatchId]) -> dict[MatchId, Result]:
    rows = conn.execute(
        "select match_id, array_agg(entry_id order by seat), array_agg(placement order by seat),"
        " array_agg(verdict <> 'DONE' order by seat) from seats where match_id = any (%s)"
        " group by match_id",
        (list(match_ids),),
    )
    return {
        match_id: Result(match_id, tuple(entries), tuple(placements), tuple(faults))
        for match_id, entries, placements, faults in rows
    }


def _ratings(
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


def _write(
    conn: Connection, season_id: SeasonId, state: _Fold, rated_no: int, *, overturned: bool
) -> None:
    """Season first, then entries in order: the lock order of the store.

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
