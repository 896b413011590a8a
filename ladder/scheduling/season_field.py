"""Holds what the pairing knows of a season beside its entries, and proposes lineups. Pure.

The scheduler's cache and the simulated ladders of ``benchmarks.rating`` use the same class.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.ids import EntryId
from ladder.matches.pairing import Candidate, EncounterCounts, Proposal, propose_lineups
from ladder.ratings.official.equal_groups import find_equal_groups
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.standing import OfficialPlace
from ladder.ratings.official.throwers import find_throwers

Contenders = NDArray[np.int32]

LEAST_PACE: Final = 0.05
"""Pace of entries that always fail, and of groups that games cannot tell apart."""
FAILING: Final = 0.5
"""Share of failed games above which an entry plays less."""
PRIOR_GAMES: Final = 2
"""Games without a fault that each entry starts with, so that a first fault slows nobody."""
KEPT_APART: Final = 200
"""Meetings that count in addition for a favourite and those who lose to it against expectation."""
ALARM: Final = 0.05
"""Expected number of favourites in a season without throwers, whose pairs meet less."""
MOST_GAMES_CHECKED: Final = 200_000
"""Longest log in which pairs are checked: a check takes about two seconds then."""
EQUALS: Final = 1.6
"""Loss of pace of a member that surely belongs to a group of equals."""


@dataclass(frozen=True, slots=True)
class PairingTerms:
    """The settings of a season that its lineups depend on."""

    seats: int
    beta: float
    score_offset: float = 0.0
    same_team_lineups: bool = False


class SeasonField:
    """Official places, meetings and seat counts of a season."""

    def __init__(self) -> None:
        self._numbers: Mapping[EntryId, int] = {}
        self._met = EncounterCounts()
        self._sat: NDArray[np.int32] = np.zeros((0, 0), np.int32)
        self._faults: NDArray[np.intp] = np.zeros(0, np.intp)
        self._by_number: list[tuple[tuple[int, ...], float]] = []
        """Games by seat, and the pace of those who fail, of each contender."""
        self._counted = 0
        self._places: Mapping[EntryId, OfficialPlace] = {}
        self._paces: Mapping[EntryId, float] | None = None
        """Entries of groups of equals; None: not computed for these places."""
        self._games = GameTable.empty()
        self._unlikely: NDArray[np.int32] = np.zeros((0, 2), np.int32)
        """Pairs of contenders with unlikely results: [pairs, 2]."""

    def count_games(self, numbers: Mapping[EntryId, int], games: GameTable) -> None:
        """Counts the new ones of all games so far."""
        self._numbers = numbers
        new = games.contenders[self._counted :]
        if not len(new):
            return
        contenders = max(numbers.values(), default=-1) + 1
        self._met = self._met.plus(dict(numbers), new)
        self._sat = _add_seat_counts(self._sat, contenders, new)
        failed = new[games.faults[self._counted :] & (new >= 0)]
        faults = np.bincount(failed, minlength=contenders)
        faults[: len(self._faults)] += self._faults
        self._faults = faults
        self._by_number += [((), 1.0)] * (contenders - len(self._by_number))
        for number in np.unique(new[new >= 0]).tolist():
            seats = tuple(self._sat[number].tolist())
            self._by_number[number] = seats, _pace_of_failing(int(faults[number]), sum(seats))
        self._counted = len(games)
        self._games = games

    def set_places(self, places: Mapping[EntryId, OfficialPlace]) -> None:
        """Sets the official places by the newest standing."""
        self._places, self._paces = places, None

    def propose_lineups(
        self,
        entries: Sequence[Candidate],
        terms: PairingTerms,
        *,
        lineups: int,
        rng: Random,
        admissible: Collection[str] | None = None,
    ) -> Proposal:
        """Proposes lineups of these entries, which have their live ratings."""
        if self._paces is None:
            self._paces = self._paces_of_equals(terms.beta)
            self._unlikely = self._unlikely_pairs(terms.beta)
        met = self._met
        if len(self._unlikely):
            met = met.plus(self._numbers, np.repeat(self._unlikely, KEPT_APART, axis=0))
        return propose_lineups(
            [self._with_official_rating(each, terms.score_offset) for each in entries],
            seats=terms.seats,
            lineups=lineups,
            rng=rng,
            beta=terms.beta,
            same_team_lineups=terms.same_team_lineups,
            admissible=admissible,
            met=met,
        )

    def pace(self, entry_id: EntryId) -> float:
        """Returns the pace of an entry (``Candidate.pace``)."""
        failing = self._counts_of(entry_id)[1]
        return min(failing, self._paces.get(entry_id, 1.0)) if self._paces else failing

    def _with_official_rating(self, each: Candidate, score_offset: float) -> Candidate:
        """Returns the candidate on the official scale; before its first fit, by its live rating."""
        place = self._places.get(each.entry_id)
        return Candidate(  # dataclasses.replace would take five times as long
            each.entry_id,
            each.submission_id,
            each.agent_id,
            each.team_id,
            each.digest,
            each.profile,
            each.mu + score_offset if place is None else place.score,
            each.sigma if place is None else place.sigma,
            each.games,
            each.in_flight,
            each.weight,
            each.is_anchor,
            each.loss if place is None else place.loss,
            self._counts_of(each.entry_id)[0],
            self.pace(each.entry_id),
        )

    def _counts_of(self, entry_id: EntryId) -> tuple[tuple[int, ...], float]:
        number = self._numbers.get(entry_id, -1)
        return self._by_number[number] if 0 <= number < len(self._by_number) else ((), 1.0)

    def _paces_of_equals(self, beta: float) -> dict[EntryId, float]:
        """Returns the pace of each entry in a group that games have not told apart.

        Equal bundles count once. Entries that fail are no members.
        """
        by_number: dict[int, list[EntryId]] = {}
        for entry in self._places:
            number = self._numbers.get(entry, -1)
            if number >= 0 and self._counts_of(entry)[1] == 1.0:
                by_number.setdefault(number, []).append(entry)
        copies = list(by_number.values())
        places = [self._places[entries[0]] for entries in copies]
        groups = find_equal_groups(
            np.array([place.score for place in places]) / beta,
            np.array([place.sigma for place in places]) / beta,
        )
        return {
            entry: max(LEAST_PACE, 1.0 - EQUALS * group.share)
            for group in groups
            for member in group.members.tolist()
            for entry in copies[member]
        }

    def _unlikely_pairs(self, beta: float) -> NDArray[np.int32]:
        """Returns the suspect favourites with those who lose to them; none in a very long log."""
        if not 0 < len(self._games) <= MOST_GAMES_CHECKED:
            return np.zeros((0, 2), np.int32)
        mu, sigma = np.full((2, max(self._numbers.values()) + 1), np.nan)
        for entry, place in self._places.items():
            if entry in self._numbers:
                mu[self._numbers[entry]] = place.score / beta
                sigma[self._numbers[entry]] = place.sigma / beta
        found = find_throwers(self._games, mu, sigma, 0.0, ALARM)
        pairs = [(each.favourite, pair.thrower) for each in found for pair in each.pairs]
        return np.array(pairs, np.int32).reshape(-1, 2)


def _pace_of_failing(faults: int, games: int) -> float:
    """Returns the pace by the share of games that a contender failed."""
    failed = faults / (games + PRIOR_GAMES)
    return 1.0 if failed <= FAILING else max(LEAST_PACE, (1.0 - failed) / FAILING)


def _add_seat_counts(
    before: NDArray[np.int32], contenders: int, games: Contenders
) -> NDArray[np.int32]:
    """Returns the counts plus these games: [contenders, seats]."""
    counts = np.zeros((contenders, games.shape[1]), np.int32)
    counts[: before.shape[0], : before.shape[1]] = before
    for seat, sitting in enumerate(games.T):
        counts[:, seat] += np.bincount(sitting[sitting >= 0], minlength=contenders).astype(np.int32)
    return counts
