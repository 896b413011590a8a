"""Figures of the tables: means and pooled values of seasons, with standard errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from benchmarks.rating.board_accuracy import games_until
from benchmarks.rating.seasons import Season

NEAR = 0.05
"""A newcomer is placed if its rank error is below this share of the league."""
BIN = 1.25
"""Newcomers' numbers of games are pooled in bins of this ratio."""


@dataclass(frozen=True)
class Figure:
    """A mean over seasons and its standard error; either may be unknown."""

    value: float | None = None
    error: float | None = None

    def text(self, digits: int = 3, never: str = "never") -> str:
        if self.value is None:
            return never
        shown = f"{self.value:.{digits}f}"
        return shown if self.error is None else f"{shown} ±{self.error:.{digits}f}"


UNKNOWN = Figure()


def mean_of(values: Sequence[float]) -> Figure:
    """The mean of these values."""
    if not len(values):
        return UNKNOWN
    error = float(np.std(values, ddof=1) / sqrt(len(values))) if len(values) > 1 else None
    return Figure(float(np.mean(values)), error)


def row(
    what: str,
    ours: Figure,
    other: Figure,
    aim: float,
    limit: str = "",
    *,
    more: bool = False,
    digits: int = 3,
    errors: float = 0.0,
) -> tuple[str, ...]:
    """One aim beside the measured figure, which may miss it by so many standard errors."""
    missed = inf if ours.value is None else (aim - ours.value if more else ours.value - aim)
    met = missed <= errors * (ours.error or 0.0)
    aim_text = f"{'>=' if more else '<='} {aim:g}"
    other_text = other.text(digits, "never" if digits == 1 else "-")
    return (what, ours.text(digits), aim_text, other_text, limit, "yes" if met else "NO")


def pooled(seasons: Sequence[Season], share: Callable[[Sequence[Season]], float | None]) -> Figure:
    """A value from all seasons together, with a jackknife error."""
    value = share(seasons)
    count = len(seasons)
    without = [share([*seasons[:n], *seasons[n + 1 :]]) for n in range(count)] if count > 1 else []
    known = [each for each in without if each is not None]
    if value is None or len(known) < count or count < 2:
        return Figure(value)
    return Figure(value, sqrt((count - 1) * float(np.var(known))))


def games_until_aim(seasons: Sequence[Season], loss: str, aim: float) -> Figure:
    """Games per agent until the mean curve falls to ``aim``; ``loss`` is 1 - rho or medals."""

    def crossing(some: Sequence[Season]) -> float | None:
        if not some:
            return None
        curve = np.mean(
            [
                [1 - shot.rho if loss == "rho" else getattr(shot, loss) for shot in one.shots]
                for one in some
            ],
            axis=0,
        )
        return games_until([shot.games for shot in some[0].shots], curve.tolist(), aim)

    return pooled(seasons, crossing)


def ratio(seasons: Sequence[Season], above: str, below: str) -> Figure:
    """The quotient of two counts, over all measured moments."""

    def quotient(some: Sequence[Season]) -> float | None:
        shots = [shot for season in some for shot in season.shots]
        total = sum(getattr(shot, below) for shot in shots)
        return sum(getattr(shot, above) for shot in shots) / total if total else None

    return pooled(seasons, quotient)


def interval_coverage(seasons: Sequence[Season], which: str) -> Figure:
    """The share of true values inside 95 % intervals, over all measured moments."""
    return mean_of([np.mean([getattr(shot, which) for shot in each.shots]) for each in seasons])


def at_end(seasons: Sequence[Season], what: str) -> Figure:
    """The mean of a measure of the last board."""
    return mean_of([getattr(each.shots[-1], what) for each in seasons])


def games_until_placed(seasons: Sequence[Season], parent: bool | None) -> Figure:
    """Games until newcomers are on average as near to their true places as the aim asks."""

    def crossing(some: Sequence[Season]) -> float | None:
        newcomers = np.array(
            [
                (games, off)
                for season in some
                for has_parent, games, off in season.newcomers
                if games > 0 and parent in (None, has_parent)
            ]
        )
        if not len(newcomers):
            return None
        step = np.floor(np.log(newcomers[:, 0]) / np.log(BIN))
        bins = [newcomers[step == one] for one in np.unique(step)]
        games = [float(np.exp(np.log(each[:, 0]).mean())) for each in bins]
        means = fit_falling_curve(
            [float(each[:, 1].mean()) for each in bins], [len(each) for each in bins]
        )
        return games_until(games, means, NEAR)

    return pooled(seasons, crossing)


def fit_falling_curve(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The nearest curve that never rises; neighbours that rise share their mean."""
    blocks = list[tuple[float, float, int]]()
    for value, weight in zip(values, weights, strict=True):
        total, heavy, count = value * weight, float(weight), 1
        while blocks and blocks[-1][0] * heavy <= total * blocks[-1][1]:
            before = blocks.pop()
            total, heavy, count = total + before[0], heavy + before[1], count + before[2]
        blocks.append((total, heavy, count))
    return [total / heavy for total, heavy, count in blocks for _ in range(count)]
