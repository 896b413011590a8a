"""Computes the board of a season: ranks by the official standing, with live scores. Pure.

Entries that the official fit does not include yet use their live rating, which has the same scale.
In a season of one seat, rows are ranked by the game's measures, in order.

A board of many entries changes often and little. So its order can be updated, and a row is made
when somebody reads it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

from ladder.ids import EntryId, SeasonId, TeamId
from ladder.leagues import measures as leagues_measures
from ladder.leagues.measures import Measure
from ladder.leagues.medals import Medal, MedalStatus
from ladder.ratings.official.representatives import LEAST_GAMES
from ladder.ratings.official.standing import OfficialPlace
from ladder.standings.board_records import (
    BoardEntry,
    BoardRow,
    MedalTerms,
    OfficialVersion,
    StandsBy,
)

Worth = tuple[float, ...]
"""Less is better."""
Key = tuple[bool, Worth, EntryId]
"""The place of an entry in the order."""
Counted = tuple[Worth, str | None]
"""Worth and twin: entries of equal ones count once for medals."""


class BoardOrder:
    """The entries that represent their teams, and anchors, best first.

    The official standing chooses the entry that represents a team. Before it, and if ``measures``
    decide, the declared entry does, otherwise the best one; an entry that has played precedes one
    that has not.
    """

    def __init__(self, score_offset: float, measures: Sequence[Measure] = ()) -> None:
        self.score_offset, self.measures = score_offset, measures
        self.entries: dict[EntryId, BoardEntry] = {}
        """All entries, also those that represent nobody."""
        self._teams: dict[TeamId, tuple[EntryId, ...]] = {}
        self._keys: list[Key] = []
        self._anchors: set[EntryId] = set()
        self.declared: set[EntryId] = set()
        """Those that their teams declared."""
        self._counted: Counter[Counted] = Counter()
        """Number of ranked entries that count once for medals."""

    def __len__(self) -> int:
        return len(self._keys)

    def entry(self, place: int) -> BoardEntry:
        """Returns the entry at this place; 0 is best."""
        return self.entries[self._keys[place][2]]

    def place(self, entry_id: EntryId) -> int | None:
        """Returns the place of the entry; None if it represents nobody."""
        each = self.entries.get(entry_id)
        if each is None:
            return None
        key = self._key(each)
        place = bisect_left(self._keys, key)
        return place if self._keys[place : place + 1] == [key] else None

    def first_below(self, score: float) -> int:
        """Returns the first place whose entry has a lower score or has not played."""
        beside: tuple[bool, Worth] = (False, (-score,))
        return bisect_right(self._keys, beside, key=lambda key: key[:2])

    def score_and_sigma(self, each: BoardEntry) -> tuple[float, float]:
        """Returns the score that decides the rank, and its deviation."""
        if each.official is None:
            return each.mu + self.score_offset, each.sigma
        return each.official.score, each.official.sigma

    def team(self, entry: BoardEntry) -> list[BoardEntry]:
        """Returns all entries of its team."""
        return [self.entries[one] for one in self._teams[entry.team_id]]

    @property
    def ranked_teams(self) -> int:
        """Returns the number of ranked teams; twins count once."""
        return len(self._counted)

    def counted_as(self, place: int) -> Counted:
        """Returns the worth and the twin of the entry at this place."""
        _, worth, entry_id = self._keys[place]
        return worth, self.entries[entry_id].twin

    def ranks(self, last: int | None = None) -> list[int | None]:
        """Returns the rank at each place, or at the places up to the rank ``last`` and one more.

        Equal entries share a rank, and the next rank follows.
        """
        found: list[int | None] = []
        rank, previous = 0, None
        for unplayed, worth, entry_id in self._keys:
            if unplayed or entry_id in self._anchors:
                found.append(None)
                continue
            if worth != previous:
                rank, previous = rank + 1, worth
            found.append(rank)
            if last is not None and rank > last:
                break
        return found

    def updated(self, changed: Collection[BoardEntry], gone: Iterable[EntryId] = ()) -> BoardOrder:
        """Returns the order with these entries new or replaced, and without those ``gone``."""
        after = BoardOrder(self.score_offset, self.measures)
        after.entries, after._teams = dict(self.entries), dict(self._teams)
        after._anchors, after.declared = set(self._anchors), set(self.declared)
        teams = {each.team_id for each in changed}
        for entry_id in [*gone, *(each.entry_id for each in changed)]:
            if (before := after.entries.pop(entry_id, None)) is not None:
                teams.add(before.team_id)
                kept = tuple(one for one in after._teams[before.team_id] if one != entry_id)
                after._teams[before.team_id] = kept
                after._anchors.discard(entry_id)
                after.declared.discard(entry_id)
        for each in changed:
            after._add(each)
            after._teams[each.team_id] = (*after._teams.get(each.team_id, ()), each.entry_id)
        after._keys, after._counted = list(self._keys), self._counted.copy()
        for team in teams:
            left, came = self._keys_of_team(team), after._keys_of_team(team)
            for key in left:
                del after._keys[bisect_left(after._keys, key)]
            for key in came:
                insort(after._keys, key)
            lost = list(self._counted_keys(left))
            after._counted.subtract(lost)
            after._counted.update(after._counted_keys(came))
            for counted in lost:
                if not after._counted[counted]:
                    del after._counted[counted]
        return after

    def filled(self, contenders: Iterable[BoardEntry]) -> BoardOrder:
        """Adds entries to an empty order, and returns it."""
        teams = defaultdict[TeamId, list[EntryId]](list)
        for each in contenders:
            self._add(each)
            teams[each.team_id].append(each.entry_id)
        self._teams = {team: tuple(own) for team, own in teams.items()}
        self._keys = sorted(key for team in self._teams for key in self._keys_of_team(team))
        self._counted.update(self._counted_keys(self._keys))
        return self

    def _counted_keys(self, keys: Iterable[Key]) -> Iterator[Counted]:
        """Yields worth and twin of each entry that has a rank: a competitor that has played."""
        for unplayed, worth, entry_id in keys:
            if not unplayed and entry_id not in self._anchors:
                yield worth, self.entries[entry_id].twin

    def _add(self, each: BoardEntry) -> None:
        self.entries[each.entry_id] = each
        if each.is_anchor:
            self._anchors.add(each.entry_id)
        if each.is_declared:
            self.declared.add(each.entry_id)

    def _keys_of_team(self, team: TeamId) -> list[Key]:
        """Returns the keys of the entry that represents the team, and of its anchors."""
        own = [self.entries[one] for one in self._teams.get(team, ())]
        shown = [each for each in own if each.is_anchor]
        if len(shown) < len(own):
            competing = own if not shown else [each for each in own if not each.is_anchor]
            shown.append(competing[0] if len(competing) == 1 else min(competing, key=self._claim))
        return [self._key(each) for each in shown]

    def _key(self, each: BoardEntry) -> Key:
        return each.games == 0, self._worth(each), each.entry_id

    def _worth(self, each: BoardEntry) -> Worth:
        if self.measures:
            return leagues_measures.sort_key(self.measures, each.estimates)
        if each.official is None:
            return (-(each.mu + self.score_offset),)
        return (-each.official.score,)

    def _claim(self, each: BoardEntry) -> tuple[bool, bool, bool, bool, Worth, str]:
        """Returns the claim of an entry to represent its team; the least one does."""
        is_ranked = each.official is not None and each.official.rank is not None
        return (
            not (each.is_declared and each.games >= LEAST_GAMES),
            not is_ranked,
            each.games == 0,
            not each.is_declared,
            self._worth(each),
            each.entry_id,
        )


class BoardRows(Sequence[BoardRow]):
    """The rows of a board. Makes each row when it is first read."""

    def __init__(self, order: BoardOrder, terms: MedalTerms) -> None:
        self.order, self._terms = order, terms
        self._first_ranks = self._ranks_for_medals()
        """Ranks at the first places; most boards are read no further."""
        self.medals = _award_medals(order, self._first_ranks, terms)
        """Medal at each place that has one; 0 is the best place."""
        self._made: list[BoardRow | None] = [None] * len(order)

    def _ranks_for_medals(self) -> list[int | None]:
        rules = self._terms.rules
        if rules.lines is not None or self._terms.sealed:
            return self._ranks
        return self.order.ranks(last=rules.cuts(_teams_for_medals(self.order, self._terms))[-1])

    @cached_property
    def _ranks(self) -> list[int | None]:
        return self.order.ranks()

    @property
    def ranked(self) -> int:
        """Returns the number of teams that have a rank."""
        return len(self._ranks) - self._ranks.count(None)

    @property
    def sealed(self) -> int:
        """Returns the number of teams whose medal is sealed."""
        sealed = self._terms.sealed
        return sum(
            sealed.get(self.order.entry(n).team_id) is medal for n, medal in self.medals.items()
        )

    def row_of(self, entry_id: EntryId) -> BoardRow | None:
        """Returns the row of the entry; None if it represents nobody."""
        place = self.order.place(entry_id)
        return None if place is None else self[place]

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, place: int) -> BoardRow: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[BoardRow, ...]: ...
    def __getitem__(self, place: int | slice) -> BoardRow | tuple[BoardRow, ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(*place.indices(len(self))))
        row = self._made[place]
        if row is None:
            row = self._made[place] = self._make_row(range(len(self))[place])
        return row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def _make_row(self, place: int) -> BoardRow:
        each = self.order.entry(place)
        medal = self.medals.get(place)
        sealed = None if medal is None else self._terms.sealed.get(each.team_id)
        return BoardRow(
            rank=(self._first_ranks if place < len(self._first_ranks) else self._ranks)[place],
            team_id=each.team_id,
            team_name=each.team_name,
            agent_id=each.agent_id,
            agent_name=each.agent_name,
            entry_id=each.entry_id,
            score=each.mu + self.order.score_offset,
            mu=each.mu,
            sigma=each.sigma,
            games=each.games,
            last_match_at=each.last_match_at,
            medal=medal,
            is_anchor=each.is_anchor,
            official=each.official,
            status=None if medal is None else _medal_status(medal, sealed, self._terms),
            sealed=sealed,
            is_declared=each.is_declared,
            stands_by=None if self.order.measures else _why_it_stands(each, self.order.team(each)),
            estimates=each.estimates,
            remote=each.remote,
            paused=each.paused,
        )


@dataclass(frozen=True, slots=True)
class Board:
    season_id: SeasonId
    revision: int
    accepted_no: int
    """Number of results in the season's log."""
    fitted: OfficialVersion | None
    rows: BoardRows
    terms: MedalTerms
    measures: tuple[Measure, ...] = ()
    """Measures that decide the rank if matches have one seat; empty: the score."""
    places: Mapping[EntryId, OfficialPlace] = field(default_factory=dict, compare=False, repr=False)
    """Places of the official standing."""
    oldest_xid: int = field(default=0, compare=False)
    """Changes by transactions from this id on may be missing."""


def build_board(
    contenders: Iterable[BoardEntry],
    score_offset: float,
    terms: MedalTerms,
    measures: Sequence[Measure] = (),
) -> BoardRows:
    """Returns one row per team and one per anchor, best score first.

    Only teams that have played have ranks and medals. Equal teams count as one. The other teams are
    at the end.
    """
    return BoardRows(BoardOrder(score_offset, measures).filled(contenders), terms)


def _why_it_stands(each: BoardEntry, team: Sequence[BoardEntry]) -> StandsBy | None:
    competing = [other for other in team if not other.is_anchor]
    if len(competing) < 2 or each.is_anchor:
        return None
    if each.is_declared:
        return StandsBy.DECLARED
    newer = [other for other in competing if other.entry_id > each.entry_id]
    if not newer:
        return StandsBy.NEWEST
    if all(other.games < LEAST_GAMES for other in newer):
        return StandsBy.WAITING
    return StandsBy.BETTER


def _teams_for_medals(order: BoardOrder, terms: MedalTerms) -> int:
    """Returns the number of teams that decides how many medals there are."""
    return order.ranked_teams if terms.teams is None else terms.teams


def _award_medals(
    order: BoardOrder, ranks: Sequence[int | None], terms: MedalTerms
) -> dict[int, Medal]:
    """Returns the medal at each place that has one; ``ranks`` end behind the last such place."""
    ranked = [(n, rank) for n, rank in enumerate(ranks) if rank is not None]
    entries = [order.entry(n) for n, _ in ranked]
    given = terms.rules.award(
        [
            (rank, each.mu + order.score_offset if each.official is None else each.official.score)
            for (_, rank), each in zip(ranked, entries, strict=True)
        ],
        _teams_for_medals(order, terms),
        [terms.sealed.get(each.team_id) for each in entries],
        [order.counted_as(n) for n, _ in ranked],
    )
    places = zip(ranked, given, strict=True)
    return {n: medal for (n, _), medal in places if medal is not None}


def _medal_status(medal: Medal, sealed: Medal | None, terms: MedalTerms) -> MedalStatus:
    if sealed is medal:
        return MedalStatus.SEALED
    return MedalStatus.AWARDED if terms.is_final else MedalStatus.LIKELY
