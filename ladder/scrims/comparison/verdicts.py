"""Decides whether a new version is better. The command line, the API and the pages use this rule.

*Better*: the lower bound of the mean difference is above 0. *Not better*: the upper bound is below
the margin. *Cannot tell*: neither happened within the allowed pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np

from ladder.errors import Invalid
from ladder.scrims.comparison import confidence_sequence

STATISTIC: Final = "betting confidence sequence of the paired difference"
ERROR: Final = 0.05
"""Chance of a false *better*, and chance of a false *not better*."""
MARGIN: Final = 0.1
LEAST_MARGIN: Final = 0.01
MOST_MARGIN: Final = 0.5
MOST_PAIRS: Final = 100_000
MOST_VARIANTS: Final = 1_000


class Verdict(StrEnum):
    """The answer to "is the new version better?"."""

    BETTER = "better"
    """The lower bound of the difference is above 0."""
    NOT_BETTER = "not_better"
    """The upper bound of the difference is below the margin."""
    CANNOT_TELL = "cannot_tell"
    """The pairs were used up before either bound decided."""


EXIT_STATUS: Final = {Verdict.BETTER: 0, Verdict.NOT_BETTER: 1, Verdict.CANNOT_TELL: 3}


def default_pairs(margin: float) -> int:
    """Returns the pairs after which a comparison gives up, if nobody chose a number.

    Of differences with a variance of 0.5 or less, 99 % are decided by then.
    """
    return math.ceil(15 / margin**2)


@dataclass(frozen=True, slots=True)
class Rule:
    """What decides a comparison. Raises Invalid for numbers out of range."""

    margin: float = MARGIN
    """Difference that matters, as a share of the opponents beaten."""
    most_pairs: int = default_pairs(MARGIN)
    variants: int = 1
    """Variants in the declared series. All of them together give a false *better* in 5 %."""

    def __post_init__(self) -> None:
        if not LEAST_MARGIN <= self.margin <= MOST_MARGIN:
            limits = f"from {LEAST_MARGIN} to {MOST_MARGIN}"
            raise Invalid("margin", f"must be {limits}; it is {self.margin:g}")
        if not 1 <= self.most_pairs <= MOST_PAIRS:
            raise Invalid("pairs", f"must be from 1 to {MOST_PAIRS}; it is {self.most_pairs}")
        if not 1 <= self.variants <= MOST_VARIANTS:
            raise Invalid("variants", f"must be from 1 to {MOST_VARIANTS}; it is {self.variants}")


@dataclass(frozen=True, slots=True)
class Picture:
    """What is known after some pairs. Differences are shares of the opponents beaten, -1 to 1."""

    pairs: int
    difference: float | None
    """Mean of the differences so far; None before the first pair."""
    low: float
    high: float
    verdict: Verdict | None
    """None while more pairs can decide."""


def picture_after(differences: Sequence[float], rule: Rule) -> Picture:
    """Returns what the pairs say so far. The bounds never widen as pairs are added."""
    values = np.asarray(differences, dtype=np.float64)
    low = confidence_sequence.lower_bound(values, rule.margin, ERROR / rule.variants, 0.0)
    high = confidence_sequence.upper_bound(values, rule.margin, ERROR, rule.margin)
    verdict = None
    if low > 0:
        verdict = Verdict.BETTER
    elif high < rule.margin:
        verdict = Verdict.NOT_BETTER
    elif len(values) >= rule.most_pairs:
        verdict = Verdict.CANNOT_TELL
    mean = float(values.mean()) if len(values) else None
    return Picture(len(values), mean, low, high, verdict)


@dataclass(slots=True)
class RunningComparison:
    """The pictures after each pair so far. Takes no pair after the verdict."""

    rule: Rule
    differences: list[float] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)

    @property
    def now(self) -> Picture:
        """The newest picture."""
        return self.pictures[-1] if self.pictures else picture_after((), self.rule)

    def add(self, difference: float) -> Picture:
        """Adds one pair's difference, from -1 to 1."""
        self.differences.append(difference)
        self.pictures.append(picture_after(self.differences, self.rule))
        return self.pictures[-1]
