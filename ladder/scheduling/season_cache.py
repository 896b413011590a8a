"""Holds what the pairing needs of a season beside its entries, and proposes lineups.

That is official places, meetings and seat counts. A scheduler that becomes leader starts with an
empty cache and reads the log again. The simulated ladders of ``benchmarks.rating`` use the same
``SeasonField``, which is pure. All columns stay between rounds, so a round costs only what has
changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ladder.database import db
from ladder.entries import candidates
from ladder.entries.candidates import CandidateReader
from ladder.ids import EntryId, SeasonId
from ladder.leagues.records import Season
from ladder.matches.durations import UsualSeconds
from ladder.matches.pairing import (
    Candidate,
    CandidateTable,
    EncounterCounts,
    LineupTerms,
    Proposal,
    live_numbers,
    propose_from_table,
)
from ladder.ratings import standing_versions
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.season_suspects import (
    FAILING,
    LEAST_PACE,
    PRIOR_GAMES,
    SeasonSuspects,
)
from ladder.ratings.official.standing import PairingPlaces
from ladder.ratings.season_log import SeasonLog

Indices = NDArray[np.intp]
Floats = NDArray[np.float64]

KEPT_APART: Final = 200
"""Meetings that count in addition for a favourite and those who lose to it against expectation."""

FAILING_GAP: Final = 3.0
"""Beta by which the pairing takes an entry as weaker if it fails so often that its pace were 0;
others in proportion. So failing entries mostly meet each other, and other entries seldom meet them.
"""


@dataclass(frozen=True, slots=True)
class PairingTerms:
    """The settings of a season that its lineups depend on."""

    seats: int
    beta: float
    score_offset: float = 0.0
    same_team_lineups: bool = False
    is_open: bool = True
    """Whether uploads are open."""


class SeasonField:
    """Entries, official places, meetings and seat counts of a season."""

    def __init__(self) -> None:
        self._entries: dict[EntryId, Candidate] = {}
        self._renumbered: set[EntryId] = set()
        """Entries whose newest numbers are in the table and not in ``_entries``. This holds even
        while the table is out of date.
        """
        self._table = CandidateTable.from_candidates((), 0, {})
        """The entries with their live ratings."""
        self._is_table_current = True
        """False after an entry came, left, or changed more than its numbers."""
        self._rows: dict[EntryId, int] = {}
        """Row of each entry in the table."""
        self._numbers: Mapping[EntryId, int] = {}
        self._numbered = 0
        self._contenders: Indices | None = None
        """Contender of each row, -1 before its first game; None: not made."""
        self._met = EncounterCounts()
        self._met_and_apart: EncounterCounts | None = None
        """Meetings, and those that count in addition; None: not made."""
        self._sat: NDArray[np.int32] = np.zeros((0, 0), np.int32)
        """Games by seat of each contender."""
        self._played: NDArray[np.int32] = np.zeros(0, np.int32)
        """Games of each contender: [contenders]."""
        self._faults: NDArray[np.int32] = np.zeros(0, np.int32)
        """Games that each contender failed: [contenders]."""
        self._counted = 0
        self._places = PairingPlaces.none()
        self._official: Floats | None = None
        """[3, rows]: score, deviation and loss by place, NaN without one; None: not made."""
        self._suspects = SeasonSuspects()
        self._equal_paces: Floats | None = None
        """Paces of entries in groups of equals by row; None: not made."""

    def count_games(self, numbers: Mapping[EntryId, int], games: GameTable) -> None:
        """Counts the new ones of all games so far."""
        if len(numbers) != self._numbered:
            self._contenders = None
        self._numbers, self._numbered = numbers, len(numbers)
        new = games.contenders[self._counted :]
        if not len(new):
            return
        there = new >= 0
        count = max(int(new.max()) + 1, len(self._sat))
        self._sat = _grown(self._sat, (count, new.shape[1]))
        self._played, self._faults = _grown(self._played, (count,)), _grown(self._faults, (count,))
        for seat in range(new.shape[1]):
            np.add.at(self._sat[:, seat], new[there[:, seat], seat], 1)
        np.add.at(self._played, new[there], 1)
        np.add.at(self._faults, new[games.faults[self._counted :] & there], 1)
        self._met, self._met_and_apart = self._met.plus(numbers, new), None
        self._counted = len(games)

    def set_places(self, places: PairingPlaces, suspects: SeasonSuspects | None = None) -> None:
        """Sets the official places and the suspects of the newest standing."""
        self._places, self._suspects = places, suspects or SeasonSuspects()
        self._official = self._equal_paces = self._met_and_apart = None

    def set_entries(self, entries: Iterable[Candidate]) -> None:
        """Sets all entries, with their live ratings."""
        new = {candidate.entry_id: candidate for candidate in entries}
        changed = [
            candidate
            for entry, candidate in new.items()
            if self._entries.get(entry) != candidate or entry in self._renumbered
        ]
        self.change_entries(changed, self._entries.keys() - new.keys())

    def change_entries(self, changed: Iterable[Candidate], left: Iterable[EntryId]) -> None:
        """Adds or replaces the changed entries, and removes those that left."""
        came = list(changed)
        for candidate in came:
            before = self._entries.get(candidate.entry_id)
            self._entries[candidate.entry_id] = candidate
            if before is None or not _is_same(before, candidate):
                self._is_table_current = False
        self._renumbered.difference_update(candidate.entry_id for candidate in came)
        for entry in left:
            if self._entries.pop(entry, None) is not None:
                self._is_table_current = False
                self._renumbered.discard(entry)
        if self._is_table_current and came:
            rows = [self._rows[candidate.entry_id] for candidate in came]
            self._table.set_numbers(rows, live_numbers(came))

    def set_numbers(self, entries: Sequence[EntryId], numbers: Floats) -> None:
        """Sets the ``live_numbers`` of these entries.

        No weight may change between 0 and more than 0; use ``change_entries`` for that.
        """
        table = self._live_table()
        table.set_numbers([self._rows[entry] for entry in entries], numbers)
        self._renumbered.update(entries)

    def without_games(self) -> SeasonField:
        """Returns a field of the same entries that knows neither games nor places."""
        other, table = SeasonField(), self._live_table()
        other.set_entries(self._entries.values())
        other.set_numbers(table.identities.entry_ids, table.live_numbers(range(len(table))))
        return other

    def entries_without_games(self) -> list[Candidate]:
        """Returns the competitors that play and have no game, nor one in flight."""
        table = self._live_table()
        idle = (table.games + table.in_flight == 0) & (table.weight > 0)
        rows = np.flatnonzero(idle & ~table.identities.is_anchor)
        return [table.identities.who[row] for row in rows.tolist()]

    def propose_lineups(
        self,
        terms: PairingTerms,
        *,
        lineups: int,
        rng: Random,
        admissible: Collection[str] | None = None,
    ) -> Proposal:
        """Proposes lineups of the entries."""
        if self._met_and_apart is None:
            self._met_and_apart = self._met.plus(
                self._numbers, self._pairs_apart(), times=KEPT_APART
            )
        return propose_from_table(
            self._official_table(terms),
            LineupTerms(
                terms.seats,
                terms.beta,
                terms.same_team_lineups,
                admissible,
                terms.is_open,
            ),
            lineups=lineups,
            rng=rng,
            met=self._met_and_apart,
        )

    def pace(self, entry_id: EntryId) -> float:
        """Returns the pace of an entry (``Candidate.pace``)."""
        number = self._numbers.get(entry_id, -1)
        failing = self._failing_paces()
        own = float(failing[number]) if 0 <= number < len(failing) else 1.0
        return min(own, self._suspects.paces.get(entry_id, 1.0))

    def row_paces(self) -> Floats:
        """Returns the pace of each entry, in order of entry ids."""
        count = len(self._live_table())
        if self._equal_paces is None:
            self._equal_paces = np.ones(count)
            for entry, pace in self._suspects.paces.items():
                if entry in self._rows:
                    self._equal_paces[self._rows[entry]] = pace
        failing = _by_contender(self._failing_paces(), self._row_contenders(), 1.0)
        paces: Floats = np.minimum(failing, self._equal_paces)
        return paces

    def _live_table(self) -> CandidateTable:
        """Returns the entries with their live ratings."""
        if not self._is_table_current:
            before = self._rows
            kept = [entry for entry in before if entry in self._renumbered]  # fast: by row
            numbers = self._table.live_numbers([before[entry] for entry in kept])
            self._table = CandidateTable.from_candidates(list(self._entries.values()), 0, {})
            entry_ids = self._table.identities.entry_ids
            self._rows = {entry: row for row, entry in enumerate(entry_ids)}
            self._table.set_numbers([self._rows[entry] for entry in kept], numbers)
            self._contenders = self._official = self._equal_paces = None
            self._is_table_current = True
        return self._table

    def _official_table(self, terms: PairingTerms) -> CandidateTable:
        """Returns the entries on the official scale; before its first fit, by its live rating."""
        live = self._live_table()
        if self._official is None:
            self._official = self._places.of(live.identities.entry_ids)
        score, sigma, loss = self._official
        unplaced = np.isnan(score)
        contenders = self._row_contenders()
        failing = 1.0 - _by_contender(self._failing_paces(), contenders, 1.0)
        return CandidateTable(
            live.identities,
            np.where(unplaced, live.mu + terms.score_offset, score)
            - FAILING_GAP * terms.beta * failing,
            np.where(unplaced, live.sigma, sigma),
            live.games,
            live.in_flight,
            live.weight,
            np.where(unplaced, live.loss, loss),
            self.row_paces(),
            _by_contender(_grown(self._sat, (0, terms.seats)), contenders, 0),
            contenders,
            self._row_favourites(),
        )

    def _row_contenders(self) -> Indices:
        """Returns the contender of each row; -1 before its first game."""
        if self._contenders is None:
            get = self._numbers.get
            candidates = self._live_table().identities.who
            self._contenders = np.array(
                [get(candidate.entry_id, -1) for candidate in candidates], np.intp
            )
        return self._contenders

    def _row_favourites(self) -> NDArray[np.bool_]:
        """Returns which rows are suspect favourites."""
        favourites: NDArray[np.bool_] = np.isin(self._row_contenders(), self._pairs_apart()[:, 0])
        return favourites & (self._row_contenders() >= 0)

    def _failing_paces(self) -> Floats:
        """Returns each contender's pace by the share of games that it failed."""
        failed = self._faults / (self._played + PRIOR_GAMES)
        paces = np.maximum(LEAST_PACE, (1.0 - failed) / FAILING)
        return np.where(failed <= FAILING, 1.0, paces)

    def _pairs_apart(self) -> NDArray[np.int32]:
        """Returns the pairs of contenders that seldom meet: [pairs, 2]."""
        get = self._numbers.get
        pairs = [(get(first, -1), get(other, -1)) for first, other in self._suspects.apart]
        return np.array(pairs, np.int32).reshape(-1, 2)


def _is_same(first: Candidate, other: Candidate) -> bool:
    """Whether a lineup shows both alike, and its rules treat them alike, but for their numbers."""
    return (
        first.team_id == other.team_id
        and first.submission_id == other.submission_id
        and first.agent_id == other.agent_id
        and first.digest == other.digest
        and first.profile == other.profile
        and first.is_anchor == other.is_anchor
        and first.most_in_flight == other.most_in_flight
        and (first.weight > 0) == (other.weight > 0)
    )


def _grown(counts: NDArray[np.int32], shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Returns the counts with zeros up to this shape."""
    more = [(0, max(0, size - has)) for has, size in zip(counts.shape, shape, strict=True)]
    return np.pad(counts, more) if np.any(more) else counts


def _by_contender(values: NDArray[Any], contenders: Indices, unknown: float) -> NDArray[Any]:
    """Returns the values of these contenders; those of unknown ones are ``unknown``."""
    is_known = (contenders >= 0) & (contenders < len(values))
    if is_known.all():
        return np.take(values, contenders, axis=0)  # faster than indexing
    result = np.full((len(contenders), *values.shape[1:]), unknown, values.dtype)
    result[is_known] = values[contenders[is_known]]
    return result


READ_AT_ONCE: Final = 5_000
"""Log results per round of the scheduler, so a long log delays no round."""
LAST: Final = 2**31 - 1
"""Highest value of the column; from there on, matches run in order of arrival."""


class FairTurns:
    """Assigns turns of rated matches in their queue, so that league makers share it fairly.

    Turns are start tags of fair queueing. A maker's next turn is the larger of two numbers: the
    least waiting turn, and its own last turn plus one. So turns only grow. Suppose that a match's
    turn is n above the least waiting turn. Then at most n new matches of each other maker overtake
    it. A scheduler that becomes leader starts at the queue's least turn.
    """

    def __init__(self) -> None:
        self._front = 0
        self._next: dict[str, int] = {}

    def set_least_turn(self, front: int | None) -> None:
        """Sets the least waiting turn; an empty queue resets all makers."""
        if front is None:
            self._front, self._next = 0, {}
        else:
            self._front = max(self._front, front)

    def next_turn(self, maker: str) -> int:
        """Returns the turn of this maker's next match."""
        turn = max(self._front, self._next.get(maker, 0))
        self._next[maker] = turn + 1
        return min(turn, LAST)


@dataclass
class _CachedSeason:
    log: SeasonLog
    entries: CandidateReader
    known: SeasonField = field(default_factory=SeasonField)
    reset_count: int = 0
    version: int = 0


class SeasonCache:
    """The cache of all requested seasons."""

    def __init__(self) -> None:
        self._seen: dict[SeasonId, _CachedSeason] = {}
        self.turns = FairTurns()
        self.usual = UsualSeconds()

    @property
    def seasons(self) -> Set[SeasonId]:
        """Seasons in the cache."""
        return self._seen.keys()

    def keep_only(self, season_ids: Collection[SeasonId]) -> None:
        """Forgets all other seasons. One that plays again later is read anew."""
        self._seen = {
            season_id: season for season_id, season in self._seen.items() if season_id in season_ids
        }

    def read_entries(self, conn: db.Connection, season_id: SeasonId) -> None:
        """Reads the entries that changed since the reading before.

        If they cannot be applied, forgets the season: no later reading would return them again.
        """
        cached = self._season(season_id)
        changes = cached.entries.read(conn)
        try:
            cached.known.change_entries(changes.changed, changes.left)
            cached.known.set_numbers(changes.renumbered, changes.numbers)
        except BaseException:
            del self._seen[season_id]
            raise

    def entries_without_matches(
        self, conn: db.Connection, season_id: SeasonId, profiles: Collection[str]
    ) -> set[EntryId]:
        """Returns the competitors with one of these profiles that have no rated match, played or
        waiting, among the entries that were read."""
        idle = self._season(season_id).known.entries_without_games()
        served = {entry.entry_id for entry in idle if entry.profile in profiles}
        return candidates.entries_without_matches(conn, served)

    def read_log(self, conn: db.Connection, season: Season) -> int:
        """Reads more of the season's log, and its newest standing; returns the last number read."""
        cached = self._season(season.id)
        cached.log.read(conn, season.accepted_no, READ_AT_ONCE)
        if cached.reset_count != cached.log.reset_count:
            cached.known, cached.version = cached.known.without_games(), 0
            cached.reset_count = cached.log.reset_count
        if cached.version != season.official_version:
            latest = standing_versions.latest_pairing_places(conn, season.id)
            cached.version, places, suspects = latest
            cached.known.set_places(places, suspects)
        cached.known.count_games(cached.log.numbers, cached.log.games)
        return cached.log.log_no

    def propose_lineups(
        self,
        season: Season,
        *,
        lineups: int,
        rng: Random,
        same_team_lineups: bool = False,
        admissible: Collection[str] | None = None,
    ) -> Proposal:
        """Proposes lineups of the entries that were read, by the log that was read."""
        return self._season(season.id).known.propose_lineups(
            PairingTerms(
                season.seats,
                season.beta,
                season.score_offset,
                same_team_lineups,
                is_open=season.state == "open",
            ),
            lineups=lineups,
            rng=rng,
            admissible=admissible,
        )

    def _season(self, season_id: SeasonId) -> _CachedSeason:
        if season_id not in self._seen:
            self._seen[season_id] = _CachedSeason(SeasonLog(season_id), CandidateReader(season_id))
        return self._seen[season_id]
