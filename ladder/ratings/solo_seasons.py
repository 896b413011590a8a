"""Stores one-seat seasons: rounds with their own seeds, and totals by measure.

The seed of a round becomes known after its first match. No entry benefits. An entry's first round
is one that had not begun when the entry became active (``entry_decide`` records it under the
season's lock). Its bundle never changes, and its box has no network.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection, atomic_function, fetch, fetch_one
from ladder.entries import candidates
from ladder.enums import MatchKind
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.leagues import seasons
from ladder.leagues.measures import REWARD, WORST, Measure, Totals, add_game, worst_reward_so_far
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.matches.pairing import Candidate, EntryRound

MOST_TRIES: Final = 3
"""Highest number of matches of a round for one entry; a later one would be void too."""


def entry_rounds(conn: Connection, season: Season) -> tuple[list[EntryRound], int]:
    """Returns active entries with their last round, and the last round begun."""
    query = """select e.id, e.round, s.round from seasons s
        left join entries e on e.season_id = s.id and e.state = 'active'
        where s.id = %(season_id)s"""
    rows = conn.execute(query, {"season_id": season.id}).fetchall()
    has = {entry: last for entry, last, _ in rows}
    field = [
        EntryRound(candidate, has[candidate.entry_id])
        for candidate in candidates.pairing_candidates(conn, season.id)
        if candidate.entry_id in has
    ]
    return field, rows[0][2]


@atomic_function
def queue_round_match(
    conn: Connection,
    season: Season,
    candidate: Candidate,
    number: int,
    turn: int,
    *,
    goes_first: bool = False,
) -> MatchId:
    """Queues the entry's match of this round, which begins the round. Raises Conflict."""
    conn.execute(
        "update seasons set round = %s where id = %s and round < %s", (number, season.id, number)
    )
    match_id = _create_round_match(
        conn, season, candidate, number, turn, tries=1, goes_first=goes_first
    )
    conn.execute("update entries set round = %s where id = %s", (number, candidate.entry_id))
    return match_id


@dataclass(frozen=True, slots=True)
class VoidRound:
    """A round whose match became void without a fault of its entry."""

    match_id: MatchId
    entry_id: EntryId
    round: int
    tries: int


def void_rounds(conn: Connection, season_id: SeasonId) -> list[VoidRound]:
    """Returns the season's void matches to repeat, oldest round first."""
    query = """select r.match_id, r.entry_id, r.round, r.tries from round_matches r
        join matches m on m.id = r.match_id join entries e on e.id = r.entry_id
        where r.season_id = %(season_id)s and m.state = 'void' and e.state = 'active'
          and r.tries < %(most_tries)s order by r.round, r.entry_id"""
    rows = conn.execute(query, {"season_id": season_id, "most_tries": MOST_TRIES})
    return [VoidRound(*row) for row in rows]


@atomic_function
def requeue_round_match(
    conn: Connection, season: Season, candidate: Candidate, gap: VoidRound, turn: int
) -> MatchId:
    """Queues the match of that round again with the same seed. Raises Conflict."""
    conn.execute("delete from round_matches where match_id = %s", (gap.match_id,))
    return _create_round_match(conn, season, candidate, gap.round, turn, tries=gap.tries + 1)


def delete_old_round_matches(conn: Connection, season_id: SeasonId) -> int:
    """Deletes round matches that were played or are not repeated."""
    query = """delete from round_matches r using matches m, entries e
        where m.id = r.match_id and e.id = r.entry_id and r.season_id = %(season_id)s
          and (m.state = 'finished' or m.state = 'void'
            and (r.tries >= %(most_tries)s or e.state = 'retired'))"""
    return conn.execute(query, {"season_id": season_id, "most_tries": MOST_TRIES}).rowcount


def _create_round_match(
    conn: Connection,
    season: Season,
    candidate: Candidate,
    number: int,
    turn: int,
    *,
    tries: int,
    goes_first: bool = False,
) -> MatchId:
    match_id = matches.create_match(
        conn,
        season=season,
        kind=MatchKind.RATED,
        lineup=[candidate.seat],
        seed=round_seed(conn, season.id, number),
        turn=turn,
        goes_first=goes_first,
    )
    query = """insert into round_matches (match_id, season_id, entry_id, round, tries)
        values (%s, %s, %s, %s, %s)"""
    conn.execute(query, (match_id, season.id, candidate.entry_id, number, tries))
    return match_id


def round_seed(conn: Connection, season_id: SeasonId, number: int) -> bytes:
    """Returns 128 bits for all matches of a round, unrelated to those of other rounds."""
    secret = fetch_one(conn, bytes, "select secret from seasons where id = %s", (season_id,))
    return hmac.new(secret, b"round%d" % number, hashlib.sha256).digest()[:16]


class MeasureTotals:
    """Totals of the entries that a part of the log changes."""

    def __init__(self, conn: Connection, season_id: SeasonId, measures: Sequence[Measure]) -> None:
        self._conn, self._season_id, self._measures = conn, season_id, measures
        self.totals: dict[EntryId, Totals] = {}

    def load(self, entry_ids: Iterable[EntryId]) -> None:
        """Loads the current totals of these entries."""
        rows = self._conn.execute(
            "select id, totals from entries where id = any (%s)", (sorted(set(entry_ids)),)
        )
        self.totals.update({EntryId(entry): totals_from_json(stored) for entry, stored in rows})

    def add(self, match_id: MatchId) -> None:
        """Adds an accepted result."""
        rows = self._conn.execute(
            "select entry_id, statistics, reward from seats where match_id = %s order by seat",
            (match_id,),
        )
        for entry, statistics, reward in rows:
            self._add(entry, statistics, reward)

    def add_anew(
        self, entry_ids: Iterable[EntryId], until: int, void: Collection[MatchId] = ()
    ) -> None:
        """Sums these entries' valid results again, up to this log number.

        So totals stay a pure function of the log's prefix. ``void`` matches are left out.
        """
        for entry in sorted(set(entry_ids)):
            self.totals[entry] = {}
            query = """select t.statistics, t.reward from seats t
                join acceptances a on a.match_id = t.match_id and a.act = 'accept'
                where t.entry_id = %s and a.season_id = %s and a.no <= %s
                  and not exists (select 1 from acceptances w
                    where w.match_id = a.match_id and w.act = 'withdraw' and w.no <= %s)
                  and a.match_id <> all (%s) order by a.no, t.seat"""
            rows = self._conn.execute(query, (entry, self._season_id, until, until, sorted(void)))
            for statistics, reward in rows:
                self._add(entry, statistics, reward)

    def write(self) -> None:
        """Writes the totals to the entries' rows, in order."""
        with self._conn.cursor() as cur:
            cur.executemany(
                "update entries set totals = %s where id = %s",
                [(Jsonb(totals), entry) for entry, totals in sorted(self.totals.items())],
            )

    def _add(
        self, entry: EntryId, statistics: Mapping[str, float] | None, reward: float | None
    ) -> None:
        values = {REWARD.name: reward, **(statistics or {})}
        self.totals[entry] = add_game(self._measures, self.totals.get(entry, {}), values)


def season_worst_reward(
    conn: Connection,
    season_id: SeasonId,
    measures: Sequence[Measure],
    supposed: Mapping[EntryId, Totals] | None = None,
) -> float:
    """Returns the reward that a failed game counts as, from all rewards of the season.

    ``supposed`` replaces the totals of some entries.
    """
    if all(measure.name != REWARD.name for measure in measures):
        return 0.0
    rows = conn.execute(
        "select id, totals from entries where season_id = %s and totals ? %s", (season_id, WORST)
    )
    field = {EntryId(entry): totals_from_json(stored) for entry, stored in rows}
    return worst_reward_so_far(measures, {**field, **(supposed or {})}.values())


def totals_without_matches(
    conn: Connection, season_id: SeasonId, void: Collection[MatchId]
) -> dict[EntryId, Totals]:
    """Returns players' totals as if these matches had been void. Writes nothing."""
    query = "select rated_no, measures from seasons where id = %s"
    rated_no, measures = fetch_one(conn, tuple[int, Any], query, (season_id,))
    query = "select distinct entry_id from seats where match_id = any (%s)"
    players = fetch(conn, EntryId, query, (sorted(void),))
    totals = MeasureTotals(conn, season_id, seasons.measures_from_json(measures))
    totals.add_anew(players, rated_no, void)
    return totals.totals


def totals_from_json(stored: Mapping[str, Any]) -> Totals:
    """Returns totals from their stored form."""
    return {name: (games, total, squares) for name, (games, total, squares) in stored.items()}


@atomic_function
def make_standing_final(conn: Connection, season_id: SeasonId) -> int:
    """Marks the standing of a finished season as final after its last game.

    Returns the number of the mark; it grows only when an audited act requires another mark.
    """
    query = """update seasons
        set official_version = official_version + 1, official_no = rated_no, official_at = now(),
          official_is_stale = false, revision = revision + 1, final_version = official_version + 1
        where id = %(season_id)s returning official_version"""
    return fetch_one(conn, int, query, {"season_id": season_id})
