"""Computes the measures that rank entries of a one-seat season, with their intervals. Pure.

Matches of one seat have no opponents, so entries have no rating. The first measure decides; the
next one breaks ties. A row stores only sums: games, values and squared values. So each result is
added once, and the board reads no history.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field

from estimates.intervals import Z95, expand_student_quantile, wilson_interval
from ladder.field_types import RECORD


class MeasureKind(StrEnum):
    SHARE = "share"
    """Each game gives 0 or 1."""
    MEAN = "mean"
    """Each game gives a number."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that ranks the entries of a season."""

    __pydantic_config__ = RECORD
    name: Annotated[str, Field(examples=["won"])]
    """Key in a seat's statistics; ``reward`` is the game's reward."""
    title: Annotated[str, Field(examples=["Games won"])]
    """Title for people."""
    kind: MeasureKind
    """Share of the games, or mean over them."""
    is_higher_better: bool = True
    of: str | None = None
    """A share; only games that count for it count here. Null: every game counts."""
    least: Annotated[float | None, Field(exclude=True)] = None
    """Least value that the rules allow; None: no bound."""
    most: Annotated[float | None, Field(exclude=True)] = None

    def to_json(self) -> dict[str, Any]:
        """Returns the measure as JSON for the season's row."""
        return asdict(self)

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Measure:
        """Reads the JSON that ``to_json`` wrote."""
        return cls(**{**stored, "kind": MeasureKind(stored["kind"])})


REWARD: Final = Measure("reward", "Reward", MeasureKind.MEAN)
"""Measure of a game that defines no measures of its own."""
UNPAID: Final = "reward.unpaid"
"""Key in totals: games in which the entry failed and so got no reward. Their reward depends on the
rewards of others, so it is computed at reading.
"""
WORST: Final = "reward.worst"
"""Key in totals: the entry's worst reward, if below 0."""

Sums = tuple[int, float, float]
Totals = Mapping[str, Sums]
"""By measure: the number of games, the sum of values, the sum of squares."""
NOTHING: Final[Sums] = (0, 0.0, 0.0)
DIGITS: Final = 12
"""Decimal digits of a value that count for ranks."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimate of one measure from an entry's games."""

    __pydantic_config__ = RECORD
    name: Annotated[str, Field(examples=["won"])]
    title: Annotated[str, Field(examples=["Games won"])]
    kind: MeasureKind
    games: int
    """Number of games that count for the measure."""
    value: Annotated[float | None, Field(examples=[0.91])]
    """Null while no game counts."""
    low: float | None
    """Low end of the 95 % interval: Wilson's for a share, else Student's."""
    high: float | None
    """High end of the 95 % interval. A mean needs two games."""


def add_game(
    measures: Sequence[Measure], totals: Totals, values: Mapping[str, float | None]
) -> dict[str, Sums]:
    """Returns the totals with one more game; measures without a value stay the same.

    A reward of None means that the seat failed.
    """
    after = dict(totals)
    for measure in measures:
        if measure.of is not None and not values.get(measure.of):
            continue
        value = values.get(measure.name)
        if value is not None:
            games, total, squares = after.get(measure.name, NOTHING)
            after[measure.name] = (games + 1, total + value, squares + value * value)
            if measure.name == REWARD.name:
                worst = _worse_of(measure, after.get(WORST, NOTHING)[1], value)
                if worst:
                    after[WORST] = (1, worst, 0.0)
        elif measure.name == REWARD.name in values:
            after[UNPAID] = (after.get(UNPAID, NOTHING)[0] + 1, 0.0, 0.0)
    return after


def worst_reward_so_far(measures: Sequence[Measure], field: Iterable[Totals]) -> float:
    """Returns the reward that a failed game counts as, if the reward is a measure.

    It is the worst reward in the ``field``, at most 0. So a failure is never better than a finished
    game, and the log alone determines the value.
    """
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
    """Returns an estimate for each measure in order; a failed game's reward counts as ``worst``."""
    unpaid = totals.get(UNPAID, NOTHING)[0]
    estimated = []
    for measure in measures:
        games, total, squares = totals.get(measure.name, NOTHING)
        if unpaid and measure.name == REWARD.name:
            games, total, squares = (
                games + unpaid,
                total + unpaid * worst,
                squares + unpaid * worst * worst,
            )
        estimated.append(_estimate(measure, (games, total, squares)))
    return tuple(estimated)


def sort_key(measures: Sequence[Measure], values: Sequence[Estimate]) -> tuple[float, ...]:
    """Returns the sort key, best first; entries with equal keys share a rank. Unknown is last.

    A share sorts by the lower end of its interval. Otherwise a lucky late entry with few games
    would rank above one with hundreds of games. A mean sorts by its value, because a better result
    can widen its interval by more than it raises the mean. Values are rounded to DIGITS, since
    later digits depend on the order of results.
    """
    return tuple(
        _comparable_value(measure, value) for measure, value in zip(measures, values, strict=True)
    )


def _comparable_value(measure: Measure, estimate: Estimate) -> float:
    counts = estimate.value
    if measure.kind is MeasureKind.SHARE:
        counts = estimate.low if measure.is_higher_better else estimate.high
    if counts is None:
        return math.inf
    return float(f"{-counts if measure.is_higher_better else counts:.{DIGITS}g}")


def _worse_of(measure: Measure, first: float, second: float) -> float:
    return min(first, second) if measure.is_higher_better else max(first, second)


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
            low, high = (_within_bounds(measure, end) for end in (value - half, value + half))
    return Estimate(measure.name, measure.title, measure.kind, games, value, low, high)


def _within_bounds(measure: Measure, end: float) -> float:
    """The end of an interval, moved to the nearest value that the rules allow."""
    low = end if measure.least is None else max(measure.least, end)
    return low if measure.most is None else min(measure.most, low)


def student_t_95(freedom: int) -> float:
    """Returns the 97.5 % point of Student's t.

    Uses a table up to four degrees of freedom, an expansion (error within 0.2 %) above.
    """
    if freedom <= 4:
        return (12.706, 4.303, 3.182, 2.776)[freedom - 1]
    return expand_student_quantile(Z95, freedom)
