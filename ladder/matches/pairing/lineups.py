"""Lineups that teach: led by whose game is worth most, among opponents near, uncertain and new.

The value of a game is what it takes off the standings' loss (facts of the loss: ``worth``). The
lead has the best value, but for chance; its partners are drawn by their own value, by nearness of
rating (wide while either is uncertain, so a newcomer meets everybody first and its like soon) and
by how seldom they met; one in twenty is anybody. Once in a while the lead is whoever's turn it is,
so that nobody waits longer than ``LONGEST_WAIT`` rounds, whatever their value.

An entry of the lead's own team comes in as anybody only, where the league allows it at all: no
team gains by meeting itself. Nothing here jumps with a rating: a little more or less of it changes
the chances of each opponent by a little.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import Final

import numpy as np

from ladder.matches.pairing.bipartite_matching import BundleMatching
from ladder.matches.pairing.candidate_arrays import CandidateArrays, Floats, Indices
from ladder.matches.pairing.candidates import (
    Candidate,
    Proposal,
    left_out_profiles,
    may_share_lineup,
)
from ladder.matches.pairing.encounter_counts import EncounterCounts
from ladder.matches.pairing.seat_assignment import assign_seats
from ladder.matches.pairing.shortage import shortage_message
from ladder.matches.records import LineupSeat

LONGEST_WAIT: Final = 128
"""Rounds (a round has as many seats as the field has entries) in which everybody plays."""
KEEN: Final = 0.7  # the lead's value is at least this share of the best
ANYBODY: Final = 0.05
NOBODY_LEADS: Final = (
    "no agent can sit with the others: add an agent of another team or another anchor"
)
TRIES: Final = 8  # draws of a partner before those who may not join are sorted out


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
    """Up to ``lineups`` lineups of exactly ``seats`` entries each.

    No lineup holds an entry twice, equal bundles of one profile twice, or (unless
    ``same_team_lineups``) a competitor's team twice; anchors of a team that does not compete may
    sit together. Entries of weight 0 do not play, nor do those of a profile that is not
    ``admissible`` (None: all are); among equals, games go by weight. Anchors alone do not play: a
    competitor leads each lineup. ``met`` counts past meetings. Equal arguments and an equal ``rng``
    give equal lineups.
    """
    out = tuple(left_out_profiles(candidates, admissible))
    playing = [
        c for c in candidates if c.weight > 0 and (admissible is None or c.profile in admissible)
    ]
    reason = shortage_message(playing, seats, same_team_lineups)
    if reason is not None:
        return Proposal((), "; ".join((reason, *out)), out)
    clock = sum(c.games + c.in_flight for c in candidates) // seats
    field = CandidateArrays(playing, seats, beta, met or EncounterCounts())
    made = _LineupMaker(field, seats, same_team_lineups, rng).made(clock, lineups)
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
        self._competes = np.array([seats == 1 or not each.is_anchor for each in field.who])
        """Who may lead: a lineup of anchors alone would rate nobody."""
        # 0: leads no lineup, with whomever.
        self._keen = self._competes * field.value * self._chance(len(field))
        self._had: dict[int, list[int]] = {}
        self._holdings: BundleMatching | None = None

    def made(self, clock: int, lineups: int) -> list[tuple[LineupSeat, ...]]:
        """As many as asked for, or none; ``clock`` counts the lineups of the past."""
        made = []
        for number in range(clock, clock + lineups):
            lineup = self._lineup(number)
            if lineup is None:
                break
            self._field.play(lineup)
            keen = self._field.value[lineup] * self._chance(len(lineup))
            self._keen[lineup] = self._competes[lineup] * keen
            made.append(tuple(self._field.who[place].seat for place in self._seated(lineup)))
        return made

    def _lineup(self, number: int) -> list[int] | None:
        for lead in self._leads(number):
            lineup = self._gathered(lead)
            if lineup is not None:
                return lineup
            # One that nobody can sit with is told by looking at all; then all such are known.
            self._keen[~self._holding().seatable(self._rng)] = 0.0
        return None

    def _leads(self, number: int) -> Iterator[int]:
        """Who may lead this lineup, the first choice first."""
        every = max(1, LONGEST_WAIT // self._seats)
        turn = int(self._field.turn[number // every % len(self._field)])
        if number % every == 0 and self._keen[turn] > 0.0:
            yield turn
        while self._keen[best := int(self._keen.argmax())] > 0.0:
            yield best

    def _chance(self, count: int) -> Floats:
        return KEEN + (1 - KEEN) * self._noise.random(count)

    def _gathered(self, lead: int) -> list[int] | None:
        """A full lineup around this lead, or None when there is none that it may be in."""
        lineup = [lead]
        places, likely = self._field.around(lead, self._noise)
        while len(lineup) < self._seats:
            likely *= self._field.novelty(lineup[-1], places)
            partner = self._anybody(lineup)
            if partner is None:
                partner = self._drawn(lineup, places, likely)
            if partner is None:
                partner = self._sought(lineup)
            if partner is None:
                return self._holding().completed(lead, self._rng)
            lineup.append(partner)
        return lineup

    def _holding(self) -> BundleMatching:
        if self._holdings is None:
            self._holdings = BundleMatching(self._field.who, self._seats)
        return self._holdings

    def _anybody(self, lineup: Sequence[int]) -> int | None:
        """Once in a while, one of the whole field without regard to anything but the rules."""
        if self._rng.random() >= ANYBODY:
            return None
        for _ in range(TRIES):
            place = self._rng.randrange(len(self._field))
            if self._fits(place, lineup, self._same_team):
                return place
        return None

    def _drawn(self, lineup: Sequence[int], places: Indices, likely: Floats) -> int | None:
        """One of these places, as likely as given; None when chance finds none that fits."""
        for _ in range(TRIES):
            sums = likely.cumsum()
            if not sums[-1] > 0:
                return None
            at = sums.searchsorted(self._noise.random() * sums[-1], side="right")
            place = int(places[min(int(at), len(places) - 1)])
            if self._fits(place, lineup, False):
                return place
            likely[places == place] = 0.0
        return None

    def _sought(self, lineup: Sequence[int]) -> int | None:
        """The same among all that fit; those of the lineup's teams when there are no others."""
        for same_team in (False, True) if self._same_team else (False,):
            fitting = self._field.fitting(lineup, same_team)
            if len(fitting) == 0:
                continue
            likely = self._field.likely(lineup[0], fitting)
            for member in lineup:
                likely *= self._field.novelty(member, fitting)
            sums = likely.cumsum()
            at = sums.searchsorted(self._noise.random() * sums[-1], side="right")
            return int(fitting[min(int(at), len(fitting) - 1)])
        return None

    def _fits(self, place: int, lineup: Sequence[int], same_team: bool) -> bool:
        who = self._field.who
        others = [who[member] for member in lineup]
        return may_share_lineup(who[place], others, same_team, self._field.free)

    def _seated(self, lineup: list[int]) -> list[int]:
        """The lineup by seat; what it adds to each one's seats is remembered."""
        had = [self._had.get(place) or self._counts(place) for place in lineup]
        by_seat = [lineup[n] for n in assign_seats(had, self._rng)]
        for seat, place in enumerate(by_seat):
            self._had.setdefault(place, self._counts(place))[seat] += 1
        return by_seat

    def _counts(self, place: int) -> list[int]:
        counts = self._field.who[place].seat_games[: self._seats]
        return [*counts, *[0] * (self._seats - len(counts))]
