"""Holds candidates as columns in order of their entry ids, so that many rounds can share them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from ladder.ids import EntryId
from ladder.matches.pairing.candidates import Candidate, free_anchors, left_out_profiles
from ladder.matches.pairing.lineup_shortage import shortage_message

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
_LIVE_NUMBERS = attrgetter("mu", "sigma", "games", "in_flight", "weight")


class CandidateIdentities:
    """Ids, teams and bundles of candidates.

    It reads one of their numbers: a candidate plays if its weight is above 0.
    """

    def __init__(self, who: Sequence[Candidate]) -> None:
        self.who = who
        """In order of entry ids."""
        self._shortages: dict[tuple[int, bool], str | None] = {}
        self._subset: tuple[Flags, CandidateIdentities] | None = None
        self._ordered: tuple[Floats, Indices] | None = None

    def __len__(self) -> int:
        return len(self.who)

    @cached_property
    def entry_ids(self) -> Sequence[EntryId]:
        """The candidates' entry ids, ascending."""
        return [each.entry_id for each in self.who]

    @cached_property
    def is_anchor(self) -> Flags:
        """Which candidates are reference agents."""
        return np.array([each.is_anchor for each in self.who], np.bool_)

    @cached_property
    def most_in_flight(self) -> Floats:
        """Each candidate's limit of matches in flight; infinite without one."""
        return np.array([each.most_in_flight or np.inf for each in self.who], np.float64)

    @cached_property
    def free(self) -> frozenset[EntryId]:
        """The anchors that may share a lineup with others of their team."""
        return free_anchors(self.who) if self.is_anchor.any() else frozenset()

    @cached_property
    def teams(self) -> Indices:
        """Equal numbers for candidates that never share a lineup; a free anchor has its own."""
        return _number_keys(
            [each.entry_id if each.entry_id in self.free else each.team_id for each in self.who]
        )

    @cached_property
    def bundles(self) -> Indices:
        """Equal numbers for equal bundles of one profile."""
        return _number_keys([(each.digest, each.profile) for each in self.who])

    @cached_property
    def profiles(self) -> Mapping[str, Flags]:
        """Which candidates have each profile."""
        all_profiles = np.array([each.profile for each in self.who], np.object_)
        return {profile: all_profiles == profile for profile in set(all_profiles.tolist())}

    def shortage_message(self, seats: int, same_team_lineups: bool) -> str | None:
        """Returns why these candidates fill no match (``lineup_shortage``); they all play."""
        terms = seats, same_team_lineups
        if terms not in self._shortages:
            self._shortages[terms] = shortage_message(self.who, *terms)
        return self._shortages[terms]

    def order_by(self, values: Floats) -> Indices:
        """Returns the rows in order of ``values``: [rows], by a stable sort. Keeps the last."""
        if self._ordered is None or not np.array_equal(self._ordered[0], values):
            self._ordered = values.copy(), np.argsort(values, kind="stable")
        return self._ordered[1]

    def take(self, chosen: Flags) -> CandidateIdentities:
        """Returns these candidates. The last choice is kept."""
        if self._subset is None or not np.array_equal(self._subset[0], chosen):
            who = [self.who[place] for place in np.flatnonzero(chosen).tolist()]
            self._subset = chosen, CandidateIdentities(who)
        return self._subset[1]


@dataclass(frozen=True)
class CandidateTable:
    """Candidates in order of entry ids; columns as in ``Candidate``."""

    identities: CandidateIdentities
    mu: Floats
    sigma: Floats
    games: Floats
    in_flight: Floats
    weight: Floats
    loss: Floats
    """NaN before the first official fit."""
    pace: Floats
    seat_games: NDArray[np.int32]
    """[candidates, seats]"""
    numbers: Indices
    """Numbers of the contenders whose meetings are counted; -1: unknown."""
    is_favourite: Flags
    """Which entries are suspect favourites: others seem to lose to them on purpose."""

    @classmethod
    def from_candidates(
        cls, candidates: Sequence[Candidate], seats: int, numbers: Mapping[EntryId, int]
    ) -> CandidateTable:
        """Returns the table of these candidates."""
        who = sorted(candidates, key=lambda each: each.entry_id)
        count, get = len(who), numbers.get
        columns = np.array(
            [
                (each.mu, each.sigma, each.games, each.in_flight, each.weight, each.loss, each.pace)
                for each in who
            ],
            np.float64,  # None becomes NaN
        ).reshape(count, 7)
        sat = np.zeros((count, seats), np.int32)
        for row, each in zip(sat, who, strict=True):
            had = each.seat_games[:seats]
            row[: len(had)] = had
        found = np.array([get(each.entry_id, -1) for each in who], np.intp)
        mu, sigma, games, in_flight, weight, loss, pace = columns.T
        return cls(
            CandidateIdentities(who),
            *(mu, sigma, games, in_flight, weight, loss, pace),
            sat,
            found,
            is_favourite=np.zeros(count, np.bool_),
        )

    def __len__(self) -> int:
        return len(self.identities)

    def live_numbers(self, rows: Sequence[int]) -> Floats:
        """Returns the numbers of the candidates in these rows, as ``live_numbers`` does."""
        chosen = np.array(rows, np.intp)  # once, not for each column
        return np.array([column[chosen] for column in self._live_columns])

    def set_numbers(self, rows: Sequence[int], numbers: Floats) -> None:
        """Changes the ``live_numbers`` of the candidates in these rows."""
        chosen = np.array(rows, np.intp)
        for column, values in zip(self._live_columns, numbers, strict=True):
            column[chosen] = values

    @property
    def _live_columns(self) -> tuple[Floats, ...]:
        return self.mu, self.sigma, self.games, self.in_flight, self.weight

    def of_profiles(self, admissible: Collection[str] | None) -> tuple[CandidateTable, list[str]]:
        """Returns those who play and have an admissible profile (None: any).

        Also returns a sentence for each profile that is not admissible.
        """
        plays = self.weight > 0
        served = np.ones(len(self), np.bool_)
        for profile, has in self.identities.profiles.items():
            if admissible is not None and profile not in admissible:
                served &= ~has
        out: list[str] = []
        if not served.all():
            waiting = np.flatnonzero(plays & ~served).tolist()
            out = left_out_profiles([self.identities.who[place] for place in waiting], admissible)
            plays &= served
        if plays.all():
            return self, out
        return CandidateTable(
            self.identities.take(plays),
            self.mu[plays],
            self.sigma[plays],
            self.games[plays],
            self.in_flight[plays],
            self.weight[plays],
            self.loss[plays],
            self.pace[plays],
            self.seat_games[plays],
            self.numbers[plays],
            self.is_favourite[plays],
        ), out


def live_numbers(candidates: Sequence[Candidate]) -> Floats:
    """Returns live ratings, games, matches in flight and weights: [5, candidates]."""
    return np.array([_LIVE_NUMBERS(each) for each in candidates], np.float64).reshape(-1, 5).T


def _number_keys(keys: Sequence[Hashable]) -> Indices:
    """Returns equal numbers for equal keys."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.intp)
