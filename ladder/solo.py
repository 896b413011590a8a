"""What a season for one seat ranks by: the game's own measures, each with its interval. Pure.

There is nobody to be better than, so there is no rating: the first measure decides, then the next.
Only sums are kept of each (how many games, their total, that of the squares), so that a result is
added once and a board never reads history.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from ladder.intervals import Z95, wilson


class Kind(StrEnum):
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
    kind: Kind
    is_higher_better: bool = True
    of: str | None = None
    """The share that a game must count for to be counted here; None: every game counts."""

    def to_json(self) -> dict[str, Any]:
        """As it stands in the season's row."""
        return asdict(self)

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Measure:
        """What ``to_json`` wrote."""
        return cls(**{**stored, "kind": Kind(stored["kind"])})


REWARD: Final = Measure("reward", "Reward", Kind.MEAN)
"""What a game is ranked by that names no measures of its own."""

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
    kind: Kind
    games: int
    """That count for it."""
    value: float | None
    """None while no game counts."""
    low: float | None
    """95 %: Wilson's of a share, Student's of a mean, which takes two games."""
    high: float | None


def added(
    measures: Sequence[Measure], totals: Totals, statistics: Mapping[str, float]
) -> dict[str, Sums]:
    """The totals with one more game; what it says nothing of is left as it is."""
    after = dict(totals)
    for measure in measures:
        value = statistics.get(measure.name)
        if value is None or (measure.of is not None and not statistics.get(measure.of)):
            continue
        games, total, squares = after.get(measure.name, NOTHING)
        after[measure.name] = (games + 1, total + value, squares + value * value)
    return after


def estimates(measures: Sequence[Measure], totals: Totals) -> tuple[Estimate, ...]:
    """One for each measure, in their order."""
    return tuple(_estimate(each, totals.get(each.name, NOTHING)) for each in measures)


def order(measures: Sequence[Measure], found: Sequence[Estimate]) -> tuple[float, ...]:
    """What to sort by, best first; equal for entries that share a rank. Nothing known is last.

    A share goes by the end of its interval that is sure: by its value the luckiest of many entries
    that came late, each with a few games, would stand above whoever proved as much in hundreds. A
    mean goes by its value, since a better result can widen its interval by more than it moves it.
    Less than DIGITS tell is no difference: it hangs on the order in which results were added.
    """
    return tuple(_worth(measure, one) for measure, one in zip(measures, found, strict=True))


def _worth(measure: Measure, one: Estimate) -> float:
    counts = one.value
    if measure.kind is Kind.SHARE:
        counts = one.low if measure.is_higher_better else one.high
    if counts is None:
        return math.inf
    return float(f"{-counts if measure.is_higher_better else counts:.{DIGITS}g}")


def _estimate(measure: Measure, sums: Sums) -> Estimate:
    games, total, squares = sums
    value, low, high = None, None, None
    if games:
        value = total / games
        if measure.kind is Kind.SHARE:
            low, high = wilson(total, games)
        elif games > 1:
            variance = max(0.0, squares - total * value) / (games - 1)
            half = student95(games - 1) * math.sqrt(variance / games)
            low, high = value - half, value + half
    return Estimate(measure.name, measure.title, measure.kind, games, value, low, high)


def student95(freedom: int) -> float:
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
