"""Scores the entrants of a stage of heats by points per heat, since numbers of heats can differ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from ladder.tournaments.formats.records import Pairing
from ladder.tournaments.formats.stage_run import StageRun

FINEST: Final = 1_000_000
"""Largest denominator of points. So sums of 0.1 or of a third are exact, and equal ones equal."""


@dataclass(frozen=True)
class HeatScores:
    """What each entrant of the stage has after some heats."""

    points: Mapping[int, float]
    played: Mapping[int, int]
    """Finished heats."""
    wins: Mapping[int, int]
    counted: Mapping[int, int]
    """Heats by which points and wins are divided: also those that a withdrawn entrant missed."""

    @cached_property
    def is_even(self) -> bool:
        """Whether the same number of heats counts for everybody, so that points order them."""
        return len(set(self.counted.values())) < 2

    def points_a_heat(self, entrant: int) -> Fraction:
        """Returns the exact mean."""
        exact = Fraction(self.points[entrant])
        if not self.is_even:
            exact = exact.limit_denominator(FINEST)
        return exact / self.counted[entrant]

    def wins_a_heat(self, entrant: int) -> Fraction:
        """Returns the share of won heats."""
        return Fraction(self.wins[entrant], self.counted[entrant])


def score_heats(run: StageRun, pairings: Iterable[Pairing], here: Collection[int]) -> HeatScores:
    """Scores the finished ones of these heats.

    ``here`` are the entrants who had not withdrawn before the last round. The points of an entrant
    are divided by the number of its heats, but at least by the smallest number of those who are
    here: heats that a withdrawn entrant missed count 0.
    """
    points = dict.fromkeys(run.field, 0.0)
    played = dict.fromkeys(run.field, 0)
    wins = dict.fromkeys(run.field, 0)
    for pairing in pairings:
        if pairing.outcome is not None:
            for each, gained in zip(pairing.outcome.order, pairing.outcome.scores, strict=True):
                points[each] += gained
                played[each] += 1
            wins[pairing.outcome.order[0]] += 1
    least = min((played[each] for each in here), default=max(played.values()))
    counted = {each: max(played[each], least, 1) for each in run.field}
    return HeatScores(points, played, wins, counted)
