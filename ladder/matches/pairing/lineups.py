"""Makes informative lineups: a valuable lead, and opponents that are near, uncertain and new.

The value of a game is its reduction of the standings' loss (``information_gain``). The lead has
nearly the best value. In large fields, leads of nearly the same value are chosen together, and
their partners are drawn together. Partners are drawn by value, by nearness of rating, and by how
seldom they met the lineup. If a rating is uncertain, partners farther away are likelier. One
partner in twenty is drawn from the whole field.

An entry without a game leads first. Sometimes entries lead in turn, so that no entry waits longer
than ``LONGEST_WAIT`` rounds. An entry of the lead's own team only enters as a random partner, where
the league permits it: no team gains by playing against itself. Chances change smoothly with
ratings.

Each contender of a lineup plays each seat equally often (``assign_seats``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

import numpy as np

from ladder.matches.pairing.bipartite_matching import BundleMatching
from ladder.matches.pairing.candidate_arrays import CandidateArrays, Floats, Indices
from ladder.matches.pairing.candidate_table import CandidateTable
from ladder.matches.pairing.candidates import Candidate, Proposal
from ladder.matches.pairing.encounter_counts import EncounterCounts
from ladder.matches.records import LineupSeat

LONGEST_WAIT: Final = 128
"""Every entry plays within this many rounds. A round has as many seats as the field has entries."""
KEEN: Final = 0.7
"""The lead has at least this share of the best value. Later leads of a group have at least the
square of it.
"""
SEARCH_ROUNDS: Final = 1
"""While uploads are open, a suspect favourite leads once in this many rounds, so that those who
lose to it on purpose are found. If there are several, they lead in turn."""
ANYBODY: Final = 0.05
NOBODY_LEADS: Final = "add an agent of another team or another anchor: no lineup is possible"
TRIES: Final = 8  # partner draws before candidates that may not join are removed


@dataclass(frozen=True, slots=True)
class LineupTerms:
    """The rules of a season's lineups."""

    seats: int
    beta: float
    same_team_lineups: bool = False
    admissible: Collection[str] | None = None
    """The profiles that may play; None: all."""
    is_open: bool = True
    """Whether uploads are open. If so, more partners are farther away."""


def propose_lineups(
    candidates: Sequence[Candidate],
    *,
    seats: int,
    lineups: int,
    rng: Random,
    beta: float,
    same_team_lineups: bool = False,
    admissible: Collection[str] | None = None,
    met: EncounterCounts | None = None,
) -> Proposal:
    """Proposes up to ``lineups`` lineups of exactly ``seats`` entries each.

    A lineup never repeats an entry or a bundle of one profile. It has one competitor of a team at
    most, unless ``same_team_lineups``; anchors of a team that does not compete may share a lineup.
    A competitor leads each lineup. Entries of weight 0 do not play. ``admissible`` lists the
    profiles that may play (None: all).

    Among equals, games are proportional to weight. ``met`` counts past meetings. Equal arguments
    and an equal ``rng`` give equal lineups.
    """
    met = met or EncounterCounts()
    table = CandidateTable.from_candidates(candidates, seats, met.numbers)
    terms = LineupTerms(seats, beta, same_team_lineups, admissible)
    return propose_from_table(table, terms, lineups=lineups, rng=rng, met=met)


def propose_from_table(
    candidates: CandidateTable,
    terms: LineupTerms,
    *,
    lineups: int,
    rng: Random,
    met: EncounterCounts,
) -> Proposal:
    """Proposes the lineups of ``propose_lineups``, for candidates in a table."""
    playing, left_out = candidates.of_profiles(terms.admissible)
    out = tuple(left_out)
    reason = playing.identities.shortage_message(terms.seats, terms.same_team_lineups)
    if reason is not None:
        return Proposal((), "; ".join((reason, *out)), out)
    clock = int(candidates.games.sum() + candidates.in_flight.sum()) // terms.seats
    field = CandidateArrays(playing, terms.seats, terms.beta, met, terms.is_open)
    maker = _LineupMaker(field, terms.seats, terms.same_team_lineups, rng)
    made = maker.make_lineups(clock, lineups)
    return Proposal(tuple(made), None if made or not lineups else NOBODY_LEADS, out)


class _LineupMaker:
    def __init__(
        self, field: CandidateArrays, seats: int, same_team_lineups: bool, rng: Random
    ) -> None:
        self._field = field
        self._seats = seats
        self._same_team = same_team_lineups
        self._rng = rng
        self._noise = np.random.Generator(np.random.PCG64(rng.getrandbits(128)))
        self._competes = (~field.is_anchor | (seats == 1)) & (field.room > 0)
        """Which candidates may lead: a lineup of anchors alone would rate nobody."""
        # Values times random factors; the largest leads next. 0: an anchor, a candidate without a
        # legal lineup, or a lead whose lineup is not made yet.
        self._keen = self._competes * field.value * self._random_factors(len(field))
        self._favourites = [each for each in field.favourite_places() if self._competes[each]]
        self._had: dict[int, list[int]] = {}
        self._holdings: BundleMatching | None = None

    def make_lineups(self, clock: int, lineups: int) -> list[tuple[LineupSeat, ...]]:
        """Returns as many lineups as requested, or none; ``clock`` counts earlier lineups."""
        made = list[tuple[LineupSeat, ...]]()
        while len(made) < lineups:
            count = min(self._field.group_size, lineups - len(made))
            leads = self._choose_leads(range(clock + len(made), clock + len(made) + count))
            if not leads:
                break
            filled = list(self._fill_lineups(leads))
            self._read_games_by_seat(filled)
            for lineup in filled:
                by_seat = map(self._field.candidate, self._assign_seats(lineup))
                made.append(tuple([each.seat for each in by_seat]))
        return made

    def _choose_leads(self, numbers: Iterable[int]) -> list[int]:
        """Returns a different lead for each lineup number.

        Returns fewer if fewer candidates can lead or have nearly the same value.
        """
        leads, best = list[int](), 0.0
        for number in numbers:
            lead = self._next_lead(number)
            keen = self._keen.item(lead)
            if not keen > KEEN * best:
                break
            best = max(best, keen)
            self._keen[lead] = 0.0  # not chosen again before a lineup with it is counted
            leads.append(lead)
        return leads

    def _next_lead(self, number: int) -> int:
        """Returns the next lead; if nobody can lead, one with ``_keen`` 0.

        It is the best candidate without a game; at regular numbers the one in turn, or a suspect
        favourite; else the best.
        """
        new = self._field.new_places()
        if len(new):
            best = int(new[self._keen[new].argmax()])
            if self._keen[best] > 0.0:
                return best
        every = max(1, LONGEST_WAIT // self._seats)
        turn = int(self._field.turn[number // every % len(self._field)])
        if number % every == 0 and self._keen[turn] > 0.0:
            return turn
        every = max(2, SEARCH_ROUNDS * len(self._field) // self._seats)
        if self._favourites and number % every == 1:
            favourite = self._favourites[number // every % len(self._favourites)]
            if self._keen[favourite] > 0.0 and self._field.is_due(favourite):
                return favourite
        return int(self._keen.argmax())

    def _fill_lineups(self, leads: Sequence[int]) -> Iterator[list[int]]:
        """Yields a full lineup around each lead, and counts it.

        Skips a lead that already plays in an earlier one of these lineups, and a lead without any
        legal lineup.
        """
        places, weights = self._field.partner_places(leads, self._noise)
        if len(leads) > 1:
            yield from self._fill_together(leads, places, weights)
            return
        lineup = self._fill_lineup(leads, places[0], weights[0])
        if lineup is not None:
            self._count_as_played([lineup])
            yield lineup

    def _fill_together(
        self, leads: Sequence[int], places: Indices, weights: Floats
    ) -> Iterator[list[int]]:
        """Fills the lineups of several leads; draws their partners together, to save time."""
        values = self._field.value.copy()
        played, uncounted = set[int](), list[list[int]]()
        drawn = self._draw_partners(leads, places, weights)
        for lineup, near, likely in zip(drawn, places, weights, strict=True):
            if lineup[0] in played:
                continue
            is_refused = False
            if len(lineup) < self._seats or not played.isdisjoint(lineup):
                self._count_as_played(uncounted)
                uncounted = []
                is_refused = self._shorten(lineup, played, values)
            if len(lineup) < self._seats:
                now = likely * (self._field.value[near] / values[near])
                for member in lineup[:-1]:
                    now *= self._field.novelty(member, near)
                full = self._fill_lineup(lineup, near, now, may_be_anybody=not is_refused)
                if full is None:
                    continue
                lineup = full
            uncounted.append(lineup)
            played.update(lineup)
            yield lineup
        self._count_as_played(uncounted)

    def _draw_partners(
        self, leads: Sequence[int], places: Indices, weights: Floats
    ) -> list[list[int]]:
        """Draws a lineup for each lead, as if it were the only lead.

        A lineup is shorter if no drawn candidate may join it.
        """
        lineups, likely, rows = np.array(leads)[:, None], weights.copy(), np.arange(len(leads))
        ends: dict[int, int] = {}
        for size in range(1, self._seats):
            likely *= self._field.novelties(lineups[:, -1].tolist(), places)
            sums = likely.cumsum(axis=1)
            chances = self._noise.random((len(leads), 1)) * sums[:, -1:]
            at = np.minimum((sums <= chances).sum(axis=1), places.shape[1] - 1)
            drawn = places[rows, at]
            is_random = self._noise.random(len(leads)) < ANYBODY
            redrawn = is_random | ~self._field.may_join_rows(drawn, lineups)
            for row in np.flatnonzero(redrawn).tolist():
                lineup = lineups[row].tolist()
                partner = self._draw_anybody(lineup) if is_random[row] else None
                if partner is None:
                    partner = self._draw_weighted_partner(lineup, places[row], likely[row])
                if partner is None:
                    ends.setdefault(row, size)
                else:
                    drawn[row] = partner
            lineups = np.column_stack((lineups, drawn))
        return [lineup[: ends.get(row)] for row, lineup in enumerate(lineups.tolist())]

    def _shorten(self, lineup: list[int], played: Collection[int], values: Floats) -> bool:
        """Removes members from a lineup, since the entries in ``played`` have played.

        ``values`` are the values at the draw. The value of an entry falls when it plays. So the
        first member that played stays with the chance new value / old value. The members after it
        are drawn again. So each lineup is as likely as if it were drawn now.

        Returns whether that member was removed. Then the seat gets a partner by weight, not a
        random one of the whole field.
        """
        for number, place in enumerate(lineup):
            if place in played:
                stays = self._noise.random() * values.item(place) < self._field.value.item(place)
                del lineup[number + stays :]
                return not stays
        return False

    def _count_as_played(self, lineups: Sequence[Sequence[int]]) -> None:
        """Counts these lineups, and draws new random factors for their members."""
        if lineups:
            places = self._field.count_as_played(lineups)
            keen = self._field.value[places] * self._random_factors(len(places))
            self._competes[places] &= self._field.room[places] > 0
            self._keen[places] = np.where(self._competes[places], keen, 0.0)

    def _random_factors(self, count: int) -> Floats:
        return KEEN + (1 - KEEN) * self._noise.random(count)

    def _fill_lineup(
        self,
        begun: Sequence[int],
        places: Indices,
        likely: Floats,
        may_be_anybody: bool = True,
    ) -> list[int] | None:
        """Returns a full lineup that begins with ``begun``, or another one with its lead.

        None: the lead has no legal lineup. ``likely`` are the weights of ``places``, without the
        novelty of the last member. The next member may be drawn from the whole field, unless
        ``may_be_anybody`` is false.
        """
        lineup = list(begun)
        while len(lineup) < self._seats:
            likely *= self._field.novelty(lineup[-1], places)
            is_random = may_be_anybody and self._rng.random() < ANYBODY
            partner = self._draw_anybody(lineup) if is_random else None
            may_be_anybody = True
            if partner is None:
                partner = self._draw_weighted_partner(lineup, places, likely)
            if partner is None:
                partner = self._draw_fitting_partner(lineup)
            if partner is None:
                return self._complete_lineup(lineup[0])
            lineup.append(partner)
        return lineup

    def _complete_lineup(self, lead: int) -> list[int] | None:
        """Returns a legal lineup of this lead; if none exists, finds all such leads."""
        if self._holdings is None:
            self._holdings = BundleMatching(self._field.candidates(), self._seats)
        lineup = self._holdings.complete_lineup(lead, self._rng)
        if lineup is None:
            self._keen[~self._holdings.seatable(self._rng)] = 0.0
        elif not (self._field.room[lineup] > 0).all():
            self._keen[lead] = 0.0
            return None
        return lineup

    def _draw_anybody(self, lineup: Sequence[int]) -> int | None:
        """Returns a random candidate of the whole field that the rules permit, or None.

        Skips candidates that have had the games of their pace.
        """
        for _ in range(TRIES):
            place = self._rng.randrange(len(self._field))
            if self._field.is_due(place) and self._field.may_join(place, lineup, self._same_team):
                return place
        return None

    def _draw_weighted_partner(
        self, lineup: Sequence[int], places: Indices, likely: Floats
    ) -> int | None:
        """Draws one of these places by weight; None if no draw may join."""
        for _ in range(TRIES):
            sums = likely.cumsum()
            if not sums[-1] > 0:
                return None
            at = sums.searchsorted(self._noise.random() * sums[-1], side="right")
            place = int(places[min(int(at), len(places) - 1)])
            if self._field.may_join(place, lineup, False):
                return place
            likely[places == place] = 0.0
        return None

    def _draw_fitting_partner(self, lineup: Sequence[int]) -> int | None:
        """Draws among all that may join; candidates of the lineup's teams come last."""
        for same_team in (False, True) if self._same_team else (False,):
            fitting = self._field.fitting(lineup, same_team)
            if len(fitting) == 0:
                continue
            values = self._field.value[fitting]
            likely = self._field.partner_weights(lineup[:1], fitting[None], values[None])[0]
            for member in lineup:
                likely *= self._field.novelty(member, fitting)
            sums = likely.cumsum()
            at = sums.searchsorted(self._noise.random() * sums[-1], side="right")
            return int(fitting[min(int(at), len(fitting) - 1)])
        return None

    def _assign_seats(self, lineup: list[int]) -> list[int]:
        """Returns the lineup by seat and counts the seats."""
        had = [self._had[place] for place in lineup]
        by_seat = [lineup[n] for n in assign_seats(had, self._rng)]
        for seat, place in enumerate(by_seat):
            self._had[place][seat] += 1
        return by_seat

    def _read_games_by_seat(self, lineups: Iterable[Sequence[int]]) -> None:
        new = {place for lineup in lineups for place in lineup if place not in self._had}
        self._had.update(zip(new, self._field.games_by_seat(list(new)), strict=True))


def assign_seats(had: Sequence[Sequence[int]], rng: Random) -> list[int]:
    """Returns a permutation: which contender (index in ``had``) takes seat 0, 1, ...

    ``had`` holds each contender's games by seat. A random order is improved by swaps, as long as a
    swap makes the counts more even in total.
    """
    order = list(range(len(had)))
    rng.shuffle(order)
    swapped = any(map(any, had))
    while swapped:
        swapped = False
        for a in range(len(order)):
            for b in range(a):
                one, two = had[order[a]], had[order[b]]
                if one[b] + two[a] < one[a] + two[b]:
                    order[a], order[b] = order[b], order[a]
                    swapped = True
    return order
