"""Holds the candidates as arrays in order of rating while lineups are made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ladder.matches.pairing import information_gain
from ladder.matches.pairing.candidate_table import CandidateTable
from ladder.matches.pairing.candidates import Candidate
from ladder.matches.pairing.encounter_counts import UNKNOWN, EncounterCounts

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
_Number = TypeVar("_Number", float, Floats)

PLACING_GAMES: Final = 5  # until an entry has these games, its weight does not reduce its value
NOVELTIES: Final = 1 / (1 + 0.3 * np.arange(1 << 12))
"""Factor of a partner's weight by the number of meetings. From 4,095 on it stays the same."""
NO_MEETINGS: Final = np.zeros(1, np.int32)
REST: Final = 0.01  # least value of a candidate, as a share of the mean value.
SMALLEST_REST: Final = 1e-100  # A smaller rest could be rounded to 0, which means impossible.
SLOW: Final = 0.1  # share of the least value that remains after the games of a slow pace.
WHOLE: Final = 1024  # The whole field is considered for each lineup up to this size.
NEAR: Final = 256  # In larger fields: nearest candidates by rating on each side.
DRAWS: Final = 96  # Draws from those, and as many from the whole field.
EVEN: Final = np.arange(DRAWS) / DRAWS
UNSURE: Final = 0.3
"""Share of both skills' variances that is added to the curves of ``_nearness``. With all of them,
new entries would meet opponents so far away that the games tell less.
"""
NARROW: Final = 0.1
"""Variance in beta^2 of the narrow curve, if both skills are known. In games of four, an entry half
a beta from its three opponents gives 3 % less information than an equal, one beta 13 %.
"""
WIDE: Final = 1.0
"""Variance in beta^2 of the wide curve. Its games show who loses to a favourite on purpose."""
WIDE_SHARE: Final = 0.1
"""Height of the wide curve at distance 0, as a share of both curves. Only while uploads are open,
and in a field of at most ``SMALL`` candidates.
"""
SMALL: Final = 100
"""In larger fields the share falls in proportion to 1 / candidates. There, two given entries seldom
meet by the wide curve, but its games still tell less.
"""
FLAT_SHARE: Final = 0.8
"""Share of a suspect favourite's partners that are drawn without regard to distance or value while
uploads are open. Others draw it without regard to distance.
"""
FRESH: Final = 8  # Lineups that share one sample of the whole field.


class CandidateArrays:
    """Value of each candidate's next game; games in flight count as if they were finished.

    A candidate's place is its index in order of rating.
    """

    def __init__(
        self,
        candidates: CandidateTable,
        seats: int,
        beta: float,
        met: EncounterCounts,
        is_open: bool = True,
    ) -> None:
        order = candidates.identities.order_by(candidates.mu)
        self._identities, self._order = candidates.identities, order
        sigma, in_flight = candidates.sigma[order], candidates.in_flight[order]
        self.turn: Indices = np.empty_like(order)
        self.turn[order] = np.arange(len(order))
        """Places in order of entry ids."""
        self.is_anchor = self._identities.is_anchor[order]
        self._is_favourite = candidates.is_favourite[order]
        self._has_favourite = is_open and bool(self._is_favourite.any())
        self._seat_games = candidates.seat_games
        self._mu = candidates.mu[order] / beta
        first = np.maximum(sigma / beta, 1e-3) ** 2
        self._seats = seats
        self._wide_share = WIDE_SHARE * min(1.0, SMALL / max(len(order), 1)) if is_open else 0.0
        self._told = information_gain.fisher_information(seats)
        self._variance = first / (1 + first * self._told * in_flight)
        loss = candidates.loss[order]
        self._loss = _order_losses(self._mu, np.sqrt(first), loss) * self._variance / first
        self._played = candidates.games[order] + in_flight
        self._weight = candidates.weight[order]
        self._limit = _game_limits(candidates.pace[order], self._played)
        is_placed = self._played >= PLACING_GAMES
        weight = np.where(is_placed, self._weight, np.maximum(self._weight, 1.0))
        self._squared_weight = weight**2
        """Factor of the value. The loss falls with the square of the games, so games are
        proportional to weight."""
        value = _loss_reduction(self._loss, self._variance * self._told, self._squared_weight)
        due = self._played < self._limit
        self._rest = float(value[due].mean()) * REST if due.any() else 1.0
        if not self._rest >= SMALLEST_REST:
            self._rest = 1.0
        self.value: Floats = np.where(due, value + self._rest, SLOW * self._rest)
        """With the least value ``_rest``. A candidate at its limit has only a share of that."""
        self._met = met
        self._teams, self._bundles = self._identities.teams, self._identities.bundles
        self._asked: tuple[Indices, Indices] = self.turn, self.turn
        """The places of the last question about meetings, and their numbers."""
        numbers = candidates.numbers[order]
        self._number = np.where(numbers < 0, UNKNOWN, numbers) if met else None
        self._has_new = True
        self._meets: dict[int, list[int]] = defaultdict(list)
        self._looks = 0
        self._total = float(self.value.sum())
        self._sample: tuple[Indices, Floats] = np.zeros(0, np.intp), np.zeros(0)

    def __len__(self) -> int:
        return len(self._order)

    def candidate(self, place: int) -> Candidate:
        """Returns the candidate with its identity; its rating and its games may be old."""
        return self._identities.who[int(self._order[place])]

    def candidates(self) -> list[Candidate]:
        """Returns all candidates in order of rating."""
        who = self._identities.who
        return [who[row] for row in self._order.tolist()]

    def games_by_seat(self, place: int) -> list[int]:
        """Returns the candidate's games in each seat."""
        counts: list[int] = self._seat_games[self._order[place]].tolist()
        return counts

    def count_as_played(self, lineup: Sequence[int]) -> None:
        """Counts this lineup as played: its members are better known and have met."""
        for place in lineup:  # for so few, numbers are faster than arrays
            known = 1 + self._variance.item(place) * self._told
            variance, loss = self._variance.item(place) / known, self._loss.item(place) / known
            played = self._played.item(place) + 1
            if played == PLACING_GAMES:
                self._squared_weight[place] = self._weight.item(place) * self._weight.item(place)
            self._variance[place], self._loss[place] = variance, loss
            self._played[place] = played
            value = SLOW * self._rest
            if played < self._limit.item(place):
                told = variance * self._told
                value = _loss_reduction(loss, told, self._squared_weight.item(place)) + self._rest
            self.value[place] = value
            self._meets[place] += [other for other in lineup if other != place]

    def new_places(self) -> Indices:
        """Returns the places of candidates that have no game yet, nor one in flight."""
        if self._has_new:
            new = np.flatnonzero(self._played == 0)
            self._has_new = len(new) > 0
            return new
        return np.zeros(0, np.intp)

    def is_due(self, place: int) -> bool:
        """Whether the candidate has had fewer games than its pace allows."""
        return bool(self._played[place] < self._limit[place])

    def partner_places(self, lead: int, rng: np.random.Generator) -> tuple[Indices, Floats]:
        """Returns places to draw a partner from, with weights by value and nearness.

        They are the whole field, or a sample of a large field, which may repeat a place.
        """
        if len(self) <= WHOLE:
            places = np.arange(len(self))
            return places, self._partner_weights(lead, places, self.value)
        low = max(0, min(lead - NEAR, len(self) - 2 * NEAR))
        near = self.value[low : low + 2 * NEAR].cumsum()
        wide, chance = self._sample_field(rng)
        places = np.concatenate((low + _spread_along_sums(near, rng), wide))
        own = self.value[places]
        drawn = np.concatenate((own[:DRAWS] / self._total, chance))
        drawn += ((places >= low) & (places < low + 2 * NEAR)) * (own / near[-1])
        return places, self._partner_weights(lead, places, own / drawn)

    def partner_weights(self, lead: int, places: Indices) -> Floats:
        """Returns the same weights for these places, each given once."""
        return self._partner_weights(lead, places, self.value[places])

    def fitting(self, lineup: Sequence[int], same_team: bool) -> Indices:
        """Returns the places of all candidates that may join this lineup."""
        bundles, teams = self._bundles[self._order], self._teams[self._order]
        fits = np.ones(len(self), np.bool_)
        for member in lineup:
            fits &= bundles != bundles[member]
            if not same_team:
                fits &= teams != teams[member]
        fits[list(lineup)] = False
        return np.flatnonzero(fits)

    def novelty(self, member: int, places: Indices) -> Floats | float:
        """Returns the factor that reduces each weight for earlier meetings with this member."""
        meets = self._meets.get(member)
        if self._number is None and meets is None:
            return 1.0
        counts: NDArray[np.int32] | NDArray[np.intp] = NO_MEETINGS
        if self._number is not None:
            if places is not self._asked[0]:
                self._asked = places, self._number[places]
            counts = self._met.between(self._number.item(member), self._asked[1])
        if meets is not None:
            counts = counts + np.bincount(meets, minlength=len(self))[places]
        novelty: Floats = NOVELTIES.take(counts, mode="clip")
        return novelty

    def may_join(self, place: int, lineup: Sequence[int], same_team: bool) -> bool:
        """Whether the candidate may join these (``candidates.may_share_lineup``)."""
        row = self._order.item(place)
        team, bundle = self._teams.item(row), self._bundles.item(row)
        for member in lineup:
            other = self._order.item(member)
            if row == other or bundle == self._bundles.item(other):
                return False
            if team == self._teams.item(other) and not same_team:
                return False
        return True

    def _partner_weights(self, lead: int, places: Indices, values: Floats) -> Floats:
        """Returns ``values`` times nearness.

        A suspect favourite also meets entries far away, and those whose games tell little. So more
        of those who lose to it on purpose are found. It does not play more for that: the weights
        keep their sums, and others draw it by its value.
        """
        weights: Floats = values * self._nearness(lead, places)
        if not self._has_favourite:
            return weights
        may_play = (places != lead) & (self._played[places] < self._limit[places])
        if self._is_favourite[lead]:
            values = values / self.value[places]
        values = np.where(may_play, values, 0.0)
        anywhere = values * (weights.sum() / max(values.sum(), SMALLEST_REST))
        share = FLAT_SHARE * (self._is_favourite[places] | self._is_favourite[lead])
        mixed: Floats = weights + share * (anywhere - weights)
        return mixed

    def _nearness(self, lead: int, places: Indices) -> Floats:
        """Returns the sum of two normal curves of the distance; about 1 for the nearest candidate.

        Their variances are ``NARROW`` and ``WIDE`` plus a share of both skills' variances. The
        distance starts at the nearest few. So a leader far ahead of the field meets more opponents
        than just the next in rank.
        """
        own = self._mu.item(lead)
        few = self._mu[max(0, lead - self._seats) : lead + self._seats + 1].tolist()
        gap = sorted(abs(other - own) for other in few)[min(self._seats, len(few)) - 1]
        away = np.maximum(np.abs(self._mu[places] - own) - gap, 0.0) ** 2
        away[places == lead] = np.inf
        if away.min() == np.inf:
            return np.zeros(len(places))
        width = 2 * (NARROW + UNSURE * (self._variance.item(lead) + self._variance[places]))
        near = away / width
        nearness: Floats = (1 - self._wide_share) * np.exp(near.min() - near)
        if self._wide_share > 0.0:
            wide = away / (width + 2 * (WIDE - NARROW))
            nearness += self._wide_share * np.exp(wide.min() - wide)
        return nearness

    def _sample_field(self, rng: np.random.Generator) -> tuple[Indices, Floats]:
        """Returns a sample of the whole field by value, and its probabilities; cached."""
        if self._looks % FRESH == 0:
            sums = self.value.cumsum()
            self._total = float(sums[-1])
            places = _spread_along_sums(sums, rng)
            self._sample = places, self.value[places] / self._total
        self._looks += 1
        return self._sample


def _loss_reduction(loss: _Number, information: _Number, squared_weight: _Number) -> _Number:
    """Returns how much a game reduces the loss: a number, or [candidates].

    ``information`` is the variance times the game's information, without a unit.
    """
    return loss * information / (1 + information) * squared_weight


def _game_limits(pace: Floats, played: Floats) -> Floats:
    """Returns the games that each candidate may have had; infinite with pace 1."""
    limits = np.full(len(pace), np.inf)
    slow = pace < 1.0
    if slow.any() and not slow.all():
        limits[slow] = PLACING_GAMES + pace[slow] * played[~slow].mean()
    return limits


def _order_losses(mu: Floats, sigma: Floats, given: Floats) -> Floats:
    """Returns the losses; a candidate without one gets the largest loss, or the loss in order."""
    missing = np.isnan(given)
    if not missing.any():
        return given
    if missing.all():
        return information_gain.order_loss(mu, mu, sigma)
    losses = given.copy()
    own = information_gain.order_loss(mu, mu[missing], sigma[missing])
    losses[missing] = np.maximum(own, np.nanmax(given))
    return losses


def _spread_along_sums(sums: Floats, rng: np.random.Generator) -> Indices:
    """Returns places at even distances along these running sums."""
    steps = (EVEN + rng.random() / DRAWS) * sums[-1]
    places: Indices = np.minimum(sums.searchsorted(steps, side="right"), len(sums) - 1)
    return places
