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
Flags = NDArray[np.bool_]
_Number = TypeVar("_Number", float, Floats)

PLACING_GAMES: Final = 5  # until an entry has these games, its weight does not reduce its value
NOVELTIES: Final = 1 / (1 + 0.3 * np.arange(1 << 12))
"""Factor of a partner's weight by the number of meetings. From 4,095 on it stays the same."""
NO_MEETINGS: Final = np.zeros(1, np.int32)
REST: Final = 0.01  # least value of a candidate, as a share of the mean value.
SMALLEST_REST: Final = 1e-100  # A smaller rest could be rounded to 0, which means impossible.
SLOW: Final = 0.1  # share of the least value that remains after the games of a slow pace.
WHOLE: Final = 1024  # The whole field is considered for each lineup up to this size.
GROUP: Final = 10  # Leads that are chosen together in larger fields.
ENTRIES_A_LEAD: Final = 400  # Larger groups have one lead for so many entries of a field.
NEAR: Final = 256  # In larger fields: nearest candidates by rating on each side.
DRAWS: Final = 64  # Draws from those, and as many from the whole field.
EVEN: Final = np.arange(DRAWS) / DRAWS
FULL: Final = 1e-200
"""Value of a candidate that has all the matches in flight that it may have."""
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
uploads are open (``_search_weights``). Others draw it without regard to distance.
"""


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
        self._gaps = _nearest_gaps(self._mu, seats)
        self._wide_share = WIDE_SHARE * min(1.0, SMALL / max(len(order), 1)) if is_open else 0.0
        self._told = information_gain.fisher_information(seats)
        self._variance = first / (1 + first * self._told * in_flight)
        loss = candidates.loss[order]
        self._loss = _order_losses(self._mu, np.sqrt(first), loss) * self._variance / first
        self._played = candidates.games[order] + in_flight
        self._weight = candidates.weight[order]
        self.room: Floats = self._identities.most_in_flight[order] - in_flight
        """Matches that each candidate may get before its limit of matches in flight."""
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
        value = np.where(due, value + self._rest, SLOW * self._rest)
        self.value: Floats = np.where(self.room > 0, value, FULL)
        """With the least value ``_rest``. A candidate at its pace's limit has only a share of that.
        """
        self._met = met
        self._teams = self._identities.teams[order]
        self._bundles = self._identities.bundles[order]
        numbers = candidates.numbers[order]
        self._numbers = np.where(numbers < 0, UNKNOWN, numbers) if met else None
        self._has_new = True
        self._meets: dict[int, list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._order)

    @property
    def group_size(self) -> int:
        """The largest number of leads that are chosen together, before their lineups are made."""
        return 1 if len(self) <= WHOLE else max(GROUP, len(self) // ENTRIES_A_LEAD)

    def candidate(self, place: int) -> Candidate:
        """Returns the candidate with its identity; its rating and its games may be old."""
        return self._identities.who[self._order.item(place)]

    def candidates(self) -> list[Candidate]:
        """Returns all candidates in order of rating."""
        who = self._identities.who
        return [who[row] for row in self._order.tolist()]

    def games_by_seat(self, places: Sequence[int]) -> list[list[int]]:
        """Returns the games in each seat of the candidates in these places."""
        counts: list[list[int]] = self._seat_games[self._order.take(places)].tolist()
        return counts

    def count_as_played(self, lineups: Sequence[Sequence[int]]) -> Indices:
        """Counts these lineups as played: their members are better known and have met.

        No candidate plays in two of them. Returns their places: [lineups x seats].
        """
        places = np.array(lineups, np.intp).ravel()
        known = 1 + self._variance[places] * self._told
        variance, loss = self._variance[places] / known, self._loss[places] / known
        played = self._played[places] + 1
        squared = np.where(
            played >= PLACING_GAMES, self._weight[places] ** 2, self._squared_weight[places]
        )
        self._variance[places], self._loss[places] = variance, loss
        self._played[places], self._squared_weight[places] = played, squared
        value = _loss_reduction(loss, variance * self._told, squared) + self._rest
        value = np.where(played < self._limit[places], value, SLOW * self._rest)
        self.room[places] -= 1
        self.value[places] = np.where(self.room[places] > 0, value, FULL)
        for lineup in lineups:
            for place in lineup:
                self._meets[place] += lineup  # with itself, which has no effect: nobody joins twice
        return places

    def new_places(self) -> Indices:
        """Returns the places of candidates that have no game yet, nor one in flight."""
        if self._has_new:
            new = np.flatnonzero(self._played == 0)
            self._has_new = len(new) > 0
            return new
        return np.zeros(0, np.intp)

    def favourite_places(self) -> list[int]:
        """Returns the places of suspect favourites while uploads are open."""
        return np.flatnonzero(self._is_favourite).tolist() if self._has_favourite else []

    def is_due(self, place: int) -> bool:
        """Whether the candidate has had fewer games than its pace allows."""
        return bool(self._played[place] < self._limit[place])

    def partner_places(
        self, leads: Sequence[int], rng: np.random.Generator
    ) -> tuple[Indices, Floats]:
        """Returns places to draw partners from, and their weights, each [leads, places].

        A small field gives all its places. A large field gives a random sample for each lead, which
        may repeat a place. The weights are by value and nearness.
        """
        if len(self) <= WHOLE:
            places = np.arange(len(self))[None]
            return places, self.partner_weights(leads, places, self.value[None])
        sums = np.concatenate(([0.0], self.value.cumsum()))
        window = min(2 * NEAR, len(self))
        low = np.clip(np.array(leads) - NEAR, 0, len(self) - window)[:, None]
        near, total = sums[low + window] - sums[low], sums[-1]
        shifts = rng.random((2, len(leads), 1)) / DRAWS
        steps = np.hstack((sums[low] + (EVEN + shifts[0]) * near, (EVEN + shifts[1]) * total))
        places = np.minimum(sums.searchsorted(steps, side="right"), len(self)) - 1
        # A place is drawn in proportion to its value times this. Its weight is the value divided by
        # that product, so the value cancels.
        drawn = 1 / total + ((places >= low) & (places < low + window)) / near
        return places, self.partner_weights(leads, places, 1 / drawn)

    def partner_weights(self, leads: Sequence[int], places: Indices, values: Floats) -> Floats:
        """Returns ``values`` times nearness, except for suspect favourites: [leads, places].

        ``places`` and ``values`` have the same shape.

        A suspect favourite also meets entries far away, and those whose games tell little: most of
        them stronger ones that it seldom met. So more of those who lose to it on purpose are found.
        The weights keep their sums, and others draw it by its value.
        """
        lead = np.array(leads)[:, None]
        weights: Floats = values * self._nearness(lead, places)
        if not self._has_favourite:
            return weights
        may_play = (places != lead) & (self._played[places] < self._limit[places])
        may_play &= self.room[places] > 0
        is_favourite = self._is_favourite[lead]
        values = np.where(is_favourite, values / self.value[places], values)
        values = np.where(may_play, values, 0.0)
        for row in np.flatnonzero(is_favourite[:, 0]).tolist():
            values[row] *= self._search_weights(leads[row], places[min(row, len(places) - 1)])
        sums = np.maximum(values.sum(axis=1, keepdims=True), SMALLEST_REST)
        anywhere = values * (weights.sum(axis=1, keepdims=True) / sums)
        share = FLAT_SHARE * (self._is_favourite[places] | is_favourite)
        mixed: Floats = weights + share * (anywhere - weights)
        return mixed

    def _search_weights(self, favourite: int, places: Indices) -> Floats:
        """Returns how much games of these with a suspect favourite tell about losses on purpose.

        Stronger entries tell more, and those that seldom met it: an entry is named after a few
        meetings.
        """
        gap = np.clip(self._mu[places] - self._mu[favourite], -20.0, 20.0)
        weights: Floats = self.novelty(favourite, places) ** 2 / (1.0 + np.exp(-1.2 * gap))
        return weights

    def fitting(self, lineup: Sequence[int], same_team: bool) -> Indices:
        """Returns the places of all candidates that may join this lineup."""
        fits = self.room > 0
        for member in lineup:
            fits &= self._bundles != self._bundles[member]
            if not same_team:
                fits &= self._teams != self._teams[member]
        fits[list(lineup)] = False
        return np.flatnonzero(fits)

    def novelty(self, member: int, places: Indices) -> Floats | float:
        """Returns the factor that reduces each weight for earlier meetings with this member."""
        meets = self._meets.get(member)
        if self._numbers is None and meets is None:
            return 1.0
        counts: NDArray[np.int32] | NDArray[np.intp] = NO_MEETINGS
        if self._numbers is not None:
            counts = self._met.between(self._numbers.item(member), self._numbers[places])
        if meets is not None:
            counts = counts + np.bincount(meets, minlength=len(self))[places]
        novelty: Floats = NOVELTIES.take(counts, mode="clip")
        return novelty

    def novelties(self, members: Sequence[int], places: Indices) -> Floats | float:
        """Returns ``novelty`` of each member with its row of places: [members, places]."""
        if self._numbers is None and not self._meets:
            return 1.0
        counts = np.zeros(places.shape, np.int32)
        if self._numbers is not None:
            counts = self._met.between_rows(self._numbers.take(members), self._numbers[places])
        for row, member in enumerate(members):
            if member in self._meets:
                counts[row] += np.bincount(self._meets[member], minlength=len(self))[places[row]]
        novelty: Floats = NOVELTIES.take(counts, mode="clip")
        return novelty

    def may_join(self, place: int, lineup: Sequence[int], same_team: bool) -> bool:
        """Whether the candidate may join these (``candidates.may_share_lineup``)."""
        if not self.room.item(place) > 0:
            return False
        team, bundle = self._teams.item(place), self._bundles.item(place)
        for member in lineup:
            if bundle == self._bundles.item(member):
                return False
            if team == self._teams.item(member) and not same_team:
                return False
        return True

    def may_join_rows(self, places: Indices, lineups: Indices) -> Flags:
        """Whether each place may join the lineup of its row: [rows].

        Entries of one team never share a lineup here.
        """
        teams = self._teams[places, None] == self._teams[lineups]
        bundles = self._bundles[places, None] == self._bundles[lineups]
        joins: Flags = ~(teams | bundles).any(axis=1) & (self.room[places] > 0)
        return joins

    def _nearness(self, lead: Indices, places: Indices) -> Floats:
        """Returns the sum of two normal curves of the distance; about 1 for the nearest candidate.

        ``lead`` is [leads, 1], ``places`` and the result are [leads, places]. The curves' variances
        are ``NARROW`` and ``WIDE`` plus a share of both skills' variances. The distance starts at
        the nearest few. So a leader far ahead of the field meets more opponents than just the next
        in rank.
        """
        away = np.maximum(np.abs(self._mu[places] - self._mu[lead]) - self._gaps[lead], 0.0) ** 2
        away[places == lead] = np.inf
        width = 2 * (NARROW + UNSURE * (self._variance[lead] + self._variance[places]))
        nearness = (1 - self._wide_share) * _scaled_exponential(away / width)
        if self._wide_share > 0.0:
            wide = away / (width + 2 * (WIDE - NARROW))
            nearness += self._wide_share * _scaled_exponential(wide)
        return nearness


def _nearest_gaps(mu: Floats, seats: int) -> Floats:
    """Returns the distance to the farthest of the ``seats`` - 1 nearest opponents: [places].

    ``mu`` ascends, so these opponents and the candidate are neighbours: ``seats`` places in a row.
    """
    count = len(mu)
    others = max(min(seats, count), 1) - 1
    ends = np.full(others, np.inf)
    padded = np.concatenate((-ends, mu, ends))
    gaps = np.full(count, np.inf)
    for first in range(others + 1):
        low, high = padded[first : first + count], padded[first + others : first + others + count]
        gaps = np.minimum(gaps, np.maximum(mu - low, high - mu))
    return gaps


def _scaled_exponential(exponents: Floats) -> Floats:
    """Returns exp(-exponents), each row scaled so that its largest value is 1.

    A row of infinite exponents gives zeros.
    """
    least = exponents.min(axis=1, keepdims=True)
    scaled: Floats = np.exp(np.where(least < np.inf, least, 0.0) - exponents)
    return scaled


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
