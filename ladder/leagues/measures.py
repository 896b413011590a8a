"""What a season for one seat ranks by: the game's own measures, each with its interval. Pure.

There is nobody to be better than, so there is no rating: the first measure decides, then the next.
Only sums are kept of each (how many games, their total, that of the squares), so that a result is
added once and a board never reads history.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from ladder.confidence_intervals import Z95, wilson_interval


class MeasureKind(StrEnum):
    SHARE = "share"
    """Each game says 0 or 1."""
    MEAN = "mean"
    """Each game says a number."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing that a season ranks by."""

    name: str
    """In the statistics of a seat; ``reward`` is what the game paid it."""
    title: str
    """For people."""
    kind: MeasureKind
    is_higher_better: bool = True
    of: str | None = None
    """The share that a game must count for to be counted here; None: every game counts."""

    def to_json(self) -> dict[str, Any]:
        """As it stands in the season's row."""
        return asdict(self)

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Measure:
        """What ``to_json`` wrote."""
        return cls(**{**stored, "kind": MeasureKind(stored["kind"])})


REWARD: Final = Measure("reward", "Reward", MeasureKind.MEAN)
"""What a game is ranked by that names no measures of its own."""
UNPAID: Final = "reward.unpaid"
"""In totals, beside the measures: games that counted for the reward and paid none, as the entry
failed in them. What those are worth is known when they are read: it hangs on what others got."""
WORST: Final = "reward.worst"
"""In totals: the worst reward that the entry was paid, where that is worse than 0."""

Sums = tuple[int, float, float]
Totals = Mapping[str, Sums]
"""By measure: games that count for it, the sum of what they say, the sum of the squares."""
NOTHING: Final[Sums] = (0, 0.0, 0.0)
DIGITS: Final = 12
"""Of a value, that count for ranks."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the games of an entry say of one measure."""

    name: str
    title: str
    kind: MeasureKind
    games: int
    """That count for it."""
    value: float | None
    """None while no game counts."""
    low: float | None
    """95 %: Wilson's of a share, Student's of a mean, which takes two games."""
    high: float | None


def add_game(
    measures: Sequence[Measure], totals: Totals, told: Mapping[str, float | None]
) -> dict[str, Sums]:
    """The totals with one more game; what it says nothing of is left as it is. A reward that is
    there and None is that of a seat which failed."""
    after = dict(totals)
    for measure in measures:
        if measure.of is not None and not told.get(measure.of):
            continue
        value = told.get(measure.name)
        if value is not None:
            games, total, squares = after.get(measure.name, NOTHING)
            after[measure.name] = (games + 1, total + value, squares + value * value)
            if measure.name == REWARD.name:
                worst = _worse_of(measure, after.get(WORST, NOTHING)[1], value)
                if worst:
                    after[WORST] = (1, worst, 0.0)
        elif measure.name == REWARD.name in told:
            after[UNPAID] = (after.get(UNPAID, NOTHING)[0] + 1, 0.0, 0.0)
    return after


def worst_reward_so_far(measures: Sequence[Measure], field: Iterable[Totals]) -> float:
    """What a failed game counts as where the reward is a measure: the worst that anybody of the
    ``field`` was paid, and 0 where nothing was worse. So who fails is never better off than by any
    game that was seen, and what the games paid can be told from the log alone."""
    worst = 0.0
    for measure in measures:
        if measure.name == REWARD.name:
            if measure.kind is MeasureKind.SHARE:
                return 0.0 if measure.is_higher_better else 1.0
            for totals in field:
                worst = _worse_of(measure, worst, totals.get(WORST, NOTHING)[1])
    return worst


def estimates(
    measures: Sequence[Measure], totals: Totals, worst: float = 0.0
) -> tuple[Estimate, ...]:
    """One for each measure, in their order; a failed game's reward counts as ``worst``."""
    unpaid = totals.get(UNPAID, NOTHING)[0]
    found = []
    for each in measures:
        games, total, squares = totals.get(each.name, NOTHING)
        if unpaid and each.name == REWARD.name:
            games, total, squares = (
                games + unpaid,
                total + unpaid * worst,
                squares + unpaid * worst * worst,
            )
        found.append(_estimate(each, (games, total, squares)))
    return tuple(found)


def sort_key(measures: Sequence[Measure], found: Sequence[Estimate]) -> tuple[float, ...]:
    """What to sort by, best first; equal for entries that share a rank. Nothing known is last.

    A share goes by the end of its interval that is sure: by its value the luckiest of many entries
    that came late, each with a few games, would stand above whoever proved as much in hundreds. A
    mean goes by its value, since a better result can widen its interval by more than it moves it.
    Less than DIGITS tell is no difference: it hangs on the order in which results were added.
    """
    return tuple(
        _comparable_value(measure, one) for measure, one in zip(measures, found, strict=True)
    )


def _comparable_value(measure: Measure, one: Estimate) -> float:
    counts = one.value
    if measure.kind is MeasureKind.SHARE:
        counts = one.low if measure.is_higher_better else one.high
    if counts is None:
        return math.inf
    return float(f"{-counts if measure.is_higher_better else counts:.{DIGITS}g}")


def _worse_of(measure: Measure, one: float, two: float) -> float:
    return min(one, two) if measure.is_higher_better else max(one, two)


def _estimate(measure: Measure, sums: Sums) -> Estimate:
    games, total, squares = sums
    value, low, high = None, None, None
    if games:
        value = total / games
        if measure.kind is MeasureKind.SHARE:
            low, high = wilson_interval(total, games)
        elif games > 1:
            variance = max(0.0, squares - total * value) / (games - 1)
            half = student_t_95(games - 1) * math.sqrt(variance / games)
            low, high = value - half, value + half
    return Estimate(measure.name, measure.title, measure.kind, games, value, low, high)


def student_t_95(freedom: int) -> float:
    """The 97.5 % point of Student's t: from the table up to four degrees of freedom, by Fisher's
    expansion (within 0.2 %) above."""
    if freedom <= 4:
        return (12.706, 4.303, 3.182, 2.776)[freedom - 1]
    z, n = Z95, float(freedom)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )
