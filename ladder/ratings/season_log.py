"""Reads a season's log into arrays, incrementally: every valid result in order of acceptance.

Contenders are numbered by their first game in the log, so their numbers depend on the log alone.
Equal bundles of one profile are one contender, regardless of their owners. Seats of a disqualified
entry are empty, as if it had never played.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.database.db import Connection
from ladder.enums import KAGGLE
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.ratings.official.game_table import GameTable, GrowingGameTable

AT_ONCE: Final = 20_000
"""Results in one database query."""
ROW: Final = np.dtype([("no", ">i8"), ("placement", ">i4"), ("is_lost", "?")])
"""The numbers of one seat as the query returns them: 13 bytes."""


class SeasonLog:
    """The part of a season's log read so far, as if the given matches had been void."""

    def __init__(self, season_id: SeasonId, void: Collection[MatchId] = ()) -> None:
        self.season_id = season_id
        self._void = frozenset(void)
        self.log_no = 0
        """Log number read so far."""
        self.reset_count = 0
        """Increases when earlier data is no longer valid and everything is read again."""
        self._acts_read_until_no = 0
        """Log number up to which withdrawals and disqualifications are applied."""
        self._withdrawn: set[MatchId] = set()
        """Withdrawn results."""
        self._disqualified: set[EntryId] = set()
        """Disqualified entries."""
        self._fault_loses: bool | None = None
        """None: not read."""
        self._reset_games()

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
        return self._games.table

    def games_by_contender(self) -> NDArray[np.intp]:
        """Returns the number of games of each contender: [contenders]."""
        contenders = self.games.contenders
        there = contenders[contenders >= 0]
        return np.bincount(there, minlength=len(self._parents))

    def read(self, conn: Connection, until: int, most: int = AT_ONCE) -> int:
        """Reads up to ``most`` more numbers, at most to ``until``; returns how many results it
        read.

        Reads from the start if a result was withdrawn, or an entry was disqualified or reinstated.
        """
        if until > self._acts_read_until_no:
            self._read_withdrawals(conn, until)
        end = min(until, self.log_no + most)
        if end <= self.log_no:
            return 0
        read = self._read(conn, end)
        self.log_no = end
        return read

    def _read_withdrawals(self, conn: Connection, until: int) -> None:
        """Reads withdrawals, disqualifications and reinstatements up to this number.

        Forgets all games if one of them changes a game that was read.
        """
        query = """select w.match_id, w.entry_id, w.act, a.no from acceptances w
            left join acceptances a on a.match_id = w.match_id and a.act = 'accept'
              and a.season_id = w.season_id
            where w.season_id = %s and w.no > %s and w.no <= %s
              and (w.act = 'withdraw' or w.entry_id is not null) order by w.no"""
        acts = conn.execute(query, (self.season_id, self._acts_read_until_no, until)).fetchall()
        self._acts_read_until_no = until
        for match_id, entry_id, act, _ in acts:
            if match_id is not None:
                self._withdrawn.add(MatchId(match_id))
            elif act == "disqualify":
                self._disqualified.add(EntryId(entry_id))
            else:
                self._disqualified.discard(EntryId(entry_id))
        has_read = self.log_no > 0 or bool(self._numbers)  # numbers only: a reading failed
        if has_read and any(no is None or no <= self.log_no for *_, no in acts):
            self.log_no = 0
            self.reset_count += 1
            self._reset_games()

    def _reset_games(self) -> None:
        self._numbers: dict[EntryId, int] = {}
        self._bundles: dict[tuple[str, str], int] = {}
        self._parents: list[int] = []
        self._games = GrowingGameTable()

    def _read(self, conn: Connection, end: int) -> int:
        invalid = self._withdrawn | self._void
        # Ids sort by time: their range limits the seats that the database reads. Each column comes
        # as one long value, which is faster to read than rows. ``string_agg`` skips nulls, so no
        # column may hold one.
        row = conn.execute(
            """with n as (select no, match_id from acceptances
              where season_id = %s and no > %s and no <= %s and act = 'accept')
            select string_agg(entry_id, ' '), string_agg(match_id, ' ') filter (where %s),
              string_agg(int8send(no) || int4send(placement) || boolsend(is_lost), '')
            from (select n.no, n.match_id, s.entry_id, s.placement, s.verdict <> 'DONE'
                and %s as is_lost
              from n join seats s on s.match_id = n.match_id
              where s.match_id >= (select min(match_id) from n)
                and s.match_id <= (select max(match_id) from n) order by n.no, s.seat) as rows""",
            (self.season_id, self.log_no, end, bool(invalid), self._does_fault_lose(conn)),
            binary=True,
        ).fetchone()
        ids, matches, numbers = row if row and row[0] else ("", "", b"")
        entries, rows = [EntryId(entry_id) for entry_id in ids.split()], np.frombuffer(numbers, ROW)
        if invalid:
            valid = [match not in invalid for match in matches.split()]
            entries = [entry for entry, kept in zip(entries, valid, strict=True) if kept]
            rows = rows[np.array(valid, np.bool_)]
        if not entries:
            return 0
        self._number_entries(conn, entries)
        first, game = np.unique(rows["no"], return_index=True, return_inverse=True)[1:]
        seat = np.arange(len(rows)) - first[game]
        shape = (len(first), max(self.games.seats, int(seat.max()) + 1))
        contenders = np.full(shape, -1, np.int32)
        ranks = np.zeros(shape, np.int16)
        faults = np.zeros(shape, np.bool_)
        contenders[game, seat] = [self._numbers.get(entry, -1) for entry in entries]
        ranks[game, seat] = rows["placement"]
        faults[game, seat] = rows["is_lost"]
        _keep_best_seat(contenders, ranks)
        ranks[contenders < 0], faults[contenders < 0] = 0, False
        self._games.append(GameTable(contenders, ranks, faults))
        return len(first)

    def _does_fault_lose(self, conn: Connection) -> bool:
        """Whether a fault is a sure loss in this season. Its rule never changes."""
        if self._fault_loses is None:
            rows = conn.execute("select fault_rule from seasons where id = %s", (self.season_id,))
            self._fault_loses = rows.fetchall() != [(KAGGLE,)]
        return self._fault_loses

    def _number_entries(self, conn: Connection, entries: Iterable[EntryId]) -> None:
        """Numbers new entries in order of first appearance, except disqualified ones."""
        new = [
            entry
            for entry in dict.fromkeys(entries)
            if entry not in self._numbers and entry not in self._disqualified
        ]
        if not new:
            return
        query = """select e.id, b.digest, e.profile, e.parent_entry_id from entries e
            join submissions b on b.id = e.submission_id
            where e.id = any (%(new)s)"""
        rows = conn.execute(query, {"new": new})
        origins = {entry: (bundle, profile, parent) for entry, bundle, profile, parent in rows}
        for entry in new:
            bundle, profile, parent = origins[entry]
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
