"""Holds what the pairing knows of a season beside its entries, and proposes lineups. Pure.

The scheduler's cache and the simulated ladders of ``benchmarks.rating`` use the same class.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from ladder.ids import EntryId
from ladder.matches.pairing import Candidate, EncounterCounts, Proposal, propose_lineups
from ladder.ratings.official.standing import OfficialPlace

Contenders = NDArray[np.int32]


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
        self._counted = 0
        self._places: Mapping[EntryId, OfficialPlace] = {}

    def count_games(self, numbers: Mapping[EntryId, int], games: Contenders) -> None:
        """Counts the new ones of all games so far: contenders by game and seat, -1 for none."""
        self._numbers = numbers
        new = games[self._counted :]
        if not len(new):
            return
        self._met = self._met.plus(dict(numbers), new)
        self._sat = _add_seat_counts(self._sat, max(numbers.values(), default=-1) + 1, new)
        self._counted = len(games)

    def set_places(self, places: Mapping[EntryId, OfficialPlace]) -> None:
        """Sets the official places by the newest standing."""
        self._places = places

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
        return propose_lineups(
            [self._with_official_rating(each, terms.score_offset) for each in entries],
            seats=terms.seats,
            lineups=lineups,
            rng=rng,
            beta=terms.beta,
            same_team_lineups=terms.same_team_lineups,
            admissible=admissible,
            met=self._met,
        )

    def _with_official_rating(self, each: Candidate, score_offset: float) -> Candidate:
        """Returns the candidate on the official scale; before its first fit, by its live rating."""
        number = self._numbers.get(each.entry_id, -1)
        sat = tuple(self._sat[number].tolist()) if 0 <= number < len(self._sat) else ()
        place = self._places.get(each.entry_id)
        if place is None:
            return replace(each, mu=each.mu + score_offset, seat_games=sat)
        return replace(each, mu=place.score, sigma=place.sigma, loss=place.loss, seat_games=sat)


def _add_seat_counts(
    before: NDArray[np.int32], contenders: int, games: Contenders
) -> NDArray[np.int32]:
    """Returns the counts plus these games: [contenders, seats]."""
    counts = np.zeros((contenders, games.shape[1]), np.int32)
    counts[: before.shape[0], : before.shape[1]] = before
    for seat, sitting in enumerate(games.T):
        counts[:, seat] += np.bincount(sitting[sitting >= 0], minlength=contenders).astype(np.int32)
    return counts
