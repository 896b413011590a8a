"""Scores the entrants of a stage of heats by points per heat, since numbers of heats can differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ladder.tournaments.formats.decimals import exact
from ladder.tournaments.formats.records import Pairing
from ladder.tournaments.formats.stage_run import StageRun


@dataclass(frozen=True)
class HeatScores:
    """What each entrant of the stage has after some heats."""

    points: Mapping[int, float]
    played: Mapping[int, int]
    """Finished heats."""
    wins: Mapping[int, int]
    missed: Mapping[int, int]
    """Heats that were planned for the entrant when it left; they count 0."""

    def counted(self, entrant: int) -> int:
        """Returns the number of heats by which points and wins are divided."""
        return max(1, self.played[entrant] + self.missed[entrant])

    @cached_property
    def is_even(self) -> bool:
        """Whether the same number of heats counts for everybody, so that points order them."""
        return len({self.counted(each) for each in self.points}) < 2

    def points_a_heat(self, entrant: int) -> Fraction:
        """Returns the exact mean."""
        return exact(self.points[entrant]) / self.counted(entrant)

    def wins_a_heat(self, entrant: int) -> Fraction:
        """Returns the share of won heats."""
        return Fraction(self.wins[entrant], self.counted(entrant))


def score_heats(
    run: StageRun, pairings: Iterable[Pairing], missed: Mapping[int, int]
) -> HeatScores:
    """Scores the finished ones of these heats."""
    points = dict.fromkeys(run.field, 0.0)
    played = dict.fromkeys(run.field, 0)
    wins = dict.fromkeys(run.field, 0)
    for pairing in pairings:
        if pairing.outcome is not None:
            for each, gained in zip(pairing.outcome.order, pairing.outcome.scores, strict=True):
                points[each] += gained
                played[each] += 1
            wins[pairing.outcome.order[0]] += 1
    return HeatScores(points, played, wins, {each: missed.get(each, 0) for each in run.field})
