"""Reads a season's log into arrays, incrementally: every valid result in order of acceptance.

Contenders are numbered by their first game in the log, so their numbers depend on the log alone.
Equal bundles of one profile are one contender, regardless of their owners. Seats of a disqualified
entry are empty, as if it had never played.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ladder.database.db import Connection
from ladder.enums import KAGGLE
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.ratings.official.game_table import GameTable

AT_ONCE: Final = 20_000
"""Results in one database query."""


class SeasonLog:
    """The part of a season's log read so far, as if the given matches had been void."""

    def __init__(self, season_id: SeasonId, void: Collection[MatchId] = ()) -> None:
        self.season_id = season_id
        self._void = frozenset(void)
        self.no = 0
        """Log number read so far."""
        self.readings = 0
        """Increases when earlier data is no longer valid and everything is read again."""
        self._knows_until = 0
        """Log number up to which withdrawals and disqualifications are applied."""
        self._forget()

    @property
    def numbers(self) -> Mapping[EntryId, int]:
        """Contender of each entry with a game in the log."""
        return self._numbers

    @property
    def parents(self) -> NDArray[np.int32]:
        """[contenders]: the contender that each one's first entry replaced."""
        return np.array(self._parents, np.int32)

    @property
    def games(self) -> GameTable:
        """All games read so far."""
        return GameTable(self._contenders, self._ranks, self._faults)

    def games_by_contender(self) -> NDArray[np.intp]:
        """Returns the number of games of each contender: [contenders]."""
        there = self._contenders[self._contenders >= 0]
        return np.bincount(there, minlength=len(self._parents))

    def read(self, conn: Connection, until: int, most: int = AT_ONCE) -> int:
        """Reads up to ``most`` more numbers, at most to ``until``; returns how many results it
        read.

        Reads from the start if a result was withdrawn, or an entry was disqualified or reinstated.
        """
        if self.no and self._is_overturned(conn, until):
            self.no = self._knows_until = 0
            self.readings += 1
            self._forget()
        self._knows_until = max(self._knows_until, until)
        end = min(until, self.no + most)
        if end <= self.no:
            return 0
        read = self._read(conn, end)
        self.no = end
        return read

    def _is_overturned(self, conn: Connection, until: int) -> bool:
        """Whether a result was withdrawn or the disqualified entries changed."""
        row = conn.execute(
            "select exists (select 1 from acceptances w join acceptances a"
            "   on a.match_id = w.match_id and a.act = 'accept'"
            " where w.season_id = %(season)s and w.no > %(known)s and w.no <= %(until)s"
            " and w.act = 'withdraw' and a.season_id = w.season_id and a.no <= %(read)s)"
            " or exists (select 1 from acceptances where season_id = %(season)s"
            "   and no > %(known)s and no <= %(until)s and entry_id is not null)",
            {
                "season": self.season_id,
                "known": self._knows_until,
                "until": until,
                "read": self.no,
            },
        ).fetchone()
        return row is not None and bool(row[0])

    def _forget(self) -> None:
        self._numbers: dict[EntryId, int] = {}
        self._bundles: dict[tuple[str, str], int] = {}
        self._parents: list[int] = []
        games = GameTable.empty()
        self._contenders, self._ranks, self._faults = games.contenders, games.ranks, games.faults

    def _disqualified(self, conn: Connection) -> set[EntryId]:
        """Entries whose last act in the applied part of the log is a disqualification."""
        rows = conn.execute(
            "select distinct on (entry_id) entry_id, act from acceptances"
            " where season_id = %s and no <= %s and entry_id is not null"
            " order by entry_id, no desc",
            (self.season_id, self._knows_until),
        )
        return {EntryId(entry) for entry, act in rows if act == "disqualify"}

    def _read(self, conn: Connection, end: int) -> int:
        standing = self._valid_results(conn, end)
        if not standing:
            return 0
        # Ids sort by time: their range limits the seats that the database reads.
        found = conn.execute(
            "select a.no, s.entry_id, s.placement, s.verdict <> 'DONE' from acceptances a"
            " join seats s on s.match_id = a.match_id where a.season_id = %s and a.no > %s"
            " and a.no <= %s and a.act = 'accept' and s.match_id between %s and %s"
            " order by a.no, s.seat",
            (self.season_id, self.no, end, min(standing.values()), max(standing.values())),
        ).fetchall()
        rows = found if len(standing) == end - self.no else [r for r in found if r[0] in standing]
        nos, entries, placements, lost = zip(*rows, strict=True)
        out = self._disqualified(conn)
        self._number_entries(conn, (entry for entry in dict.fromkeys(entries) if entry not in out))
        first, game = np.unique(nos, return_index=True, return_inverse=True)[1:]
        seat = np.arange(len(rows)) - first[game]
        shape = (len(first), max(self._contenders.shape[1], int(seat.max()) + 1))
        contenders = np.full(shape, -1, np.int32)
        ranks = np.zeros(shape, np.int16)
        faults = np.zeros(shape, np.bool_)
        number = self._numbers
        contenders[game, seat] = [-1 if e in out else number[e] for e in entries]
        ranks[game, seat] = placements
        faults[game, seat] = lost if self._rates_faults_separately(conn) else False
        _keep_best_seat(contenders, ranks)
        ranks[contenders < 0], faults[contenders < 0] = 0, False
        self._contenders = _concatenate(self._contenders, contenders, -1)
        self._ranks = _concatenate(self._ranks, ranks, 0)
        self._faults = _concatenate(self._faults, faults, False)
        return len(first)

    def _valid_results(self, conn: Connection, end: int) -> dict[int, MatchId]:
        """Results from here to this number that were not withdrawn, by number."""
        withdrawn = conn.execute(
            "select match_id from acceptances where season_id = %s and no > %s and no <= %s"
            " and act = 'withdraw'",
            (self.season_id, self.no, self._knows_until),
        ).fetchall()
        gone = self._void.union(MatchId(row[0]) for row in withdrawn)
        rows = conn.execute(
            "select no, match_id from acceptances where season_id = %s and no > %s and no <= %s"
            " and act = 'accept'",
            (self.season_id, self.no, end),
        ).fetchall()
        return {no: MatchId(match_id) for no, match_id in rows if match_id not in gone}

    def _rates_faults_separately(self, conn: Connection) -> bool:
        """Whether a fault is more than a last place in this season."""
        row = conn.execute(
            "select fault_rule <> %s from seasons where id = %s", (KAGGLE, self.season_id)
        ).fetchone()
        return row is not None and bool(row[0])

    def _number_entries(self, conn: Connection, entries: Iterable[EntryId]) -> None:
        """Numbers new entries in order of first appearance."""
        new = list(dict.fromkeys(entry for entry in entries if entry not in self._numbers))
        if not new:
            return
        rows = conn.execute(
            "select e.id, b.digest, e.profile, e.parent_entry_id from entries e"
            " join submissions b on b.id = e.submission_id where e.id = any (%s)",
            (new,),
        )
        known = {entry: (bundle, profile, parent) for entry, bundle, profile, parent in rows}
        for entry in new:
            bundle, profile, parent = known[entry]
            number = self._bundles.setdefault((bundle, profile), len(self._bundles))
            self._numbers[entry] = number
            if number == len(self._parents):
                self._parents.append(-1 if parent is None else self._numbers.get(parent, -1))


def _keep_best_seat(contenders: NDArray[np.int32], ranks: NDArray[np.int16]) -> None:
    """Keeps a contender's best seat in a game, or the first of equals.

    Empty seats already have -1.
    """
    sorted_ = np.sort(contenders, axis=1)
    doubled = ((sorted_[:, 1:] == sorted_[:, :-1]) & (sorted_[:, 1:] >= 0)).any(axis=1)
    for game in np.flatnonzero(doubled):
        best: dict[int, int] = {}
        for seat in np.argsort(ranks[game], kind="stable").tolist():
            best.setdefault(int(contenders[game, seat]), seat)
        kept = np.isin(np.arange(contenders.shape[1]), list(best.values()))
        contenders[game, ~kept] = -1


def _concatenate(old: NDArray[Any], new: NDArray[Any], empty: int | bool) -> NDArray[Any]:
    """Concatenates both with the larger number of seats."""
    missing = new.shape[1] - old.shape[1]
    if missing:
        old = np.pad(old, ((0, 0), (0, missing)), constant_values=empty)
    return np.concatenate((old, new))
