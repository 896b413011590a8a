"""Computes the figures of the tables from the results of seasons, with standard errors."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from benchmarks.rating.board_accuracy import games_until
from benchmarks.rating.experiments import FIRST_PRINTED, Record

NEAR = 0.05
"""A newcomer is placed if its rank error is below this share of the league."""
BIN = 1.25
"""Newcomers' numbers of games are pooled in bins of this ratio."""


def seed_parser(description: str | None, seeds: int = 10) -> argparse.ArgumentParser:
    """The options of a program that plays a season for each of some seeds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--first-seed", type=int, default=FIRST_PRINTED)
    return parser


@dataclass(frozen=True)
class Figure:
    """A mean over seasons and its standard error; either may be unknown."""

    value: float | None
    error: float | None

    def text(self, digits: int = 3, never: str = "never") -> str:
        if self.value is None:
            return never
        shown = f"{self.value:.{digits}f}"
        return shown if self.error is None else f"{shown} ±{self.error:.{digits}f}"


def mean_of(values: Sequence[float]) -> Figure:
    """The mean of these values."""
    if not len(values):
        return Figure(None, None)
    error = float(np.std(values, ddof=1) / sqrt(len(values))) if len(values) > 1 else None
    return Figure(float(np.mean(values)), error)


def mean_text(values: Sequence[float], digits: int) -> str:
    """The mean of these values with its standard error."""
    return mean_of(values).text(digits)


def mean(records: Iterable[Record], read: Callable[[Record], float]) -> Figure:
    """The mean of a value over seasons."""
    return mean_of([read(each) for each in records])


def pooled(records: Sequence[Record], share: Callable[[Sequence[Record]], float | None]) -> Figure:
    """A value from all seasons together, with a jackknife error."""
    value = share(records)
    count = len(records)
    without = [share([*records[:n], *records[n + 1 :]]) for n in range(count)] if count > 1 else []
    known = [each for each in without if each is not None]
    if value is None or len(known) < count or count < 2:
        return Figure(value, None)
    return Figure(value, sqrt((count - 1) * float(np.var(known))))


def games_until_aim(records: Sequence[Record], loss: str, aim: float) -> Figure:
    """Games per agent until the mean curve falls to ``aim``; ``loss`` is 1 - rho or medals."""

    def crossing(some: Sequence[Record]) -> float | None:
        if not some:
            return None
        games = [each["games"] for each in some[0].snapshots]
        curve = np.mean(
            [[_loss_value(each, loss) for each in one.snapshots] for one in some], axis=0
        )
        return games_until(games, curve.tolist(), aim)

    return pooled(records, crossing)


def ratio(records: Sequence[Record], above: str, below: str, at: int | None = -1) -> Figure:
    """The quotient of two counts, at one moment or (None) at all of them."""

    def quotient(some: Sequence[Record]) -> float | None:
        chosen = [
            s for one in some for s in (_snapshots(one) if at is None else [_snapshots(one)[at]])
        ]
        total = sum(each[below] for each in chosen)
        return sum(each[above] for each in chosen) / total if total else None

    return pooled(records, quotient)


def interval_coverage(records: Sequence[Record], which: str) -> Figure:
    """The share of true values inside 95 % intervals, over all measured moments."""
    return mean(records, lambda one: float(np.mean([shot[which] for shot in _snapshots(one)])))


def games_until_placed(records: Sequence[Record], parent: bool | None) -> Figure:
    """Games until newcomers are on average as near to their true places as the aim asks."""

    def crossing(some: Sequence[Record]) -> float | None:
        found = np.array(
            [
                (games, off)
                for one in some
                for has, games, off in (one.story or {"newcomers": []})["newcomers"]
                if games > 0 and (parent is None or has == parent)
            ]
        )
        if not len(found):
            return None
        step = np.floor(np.log(found[:, 0]) / np.log(BIN))
        bins = [found[step == one] for one in np.unique(step)]
        games = [float(np.exp(np.log(each[:, 0]).mean())) for each in bins]
        means = fit_falling_curve(
            [float(each[:, 1].mean()) for each in bins], [len(each) for each in bins]
        )
        return games_until(games, means, NEAR)

    return pooled(records, crossing)


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


def snapshot_reader(at: int, what: str) -> Callable[[Record], float]:
    """Reads a value of a season at one of its measured moments."""
    return lambda one: _snapshots(one)[at][what]


def story_reader(what: str) -> Callable[[Record], float]:
    """Reads a value of a living league."""
    return lambda one: float((one.story or {})[what])


def copies_figure_reader(what: str, unit: float) -> Callable[[Record], float]:
    """Reads a value of equal copies of a bundle, in this unit."""
    return lambda one: unit * (one.bundles or {})[what]


def _snapshots(record: Record) -> Sequence[dict[str, float]]:
    if record.story is None:
        return record.snapshots
    return [record.story["opened"], record.story["final"]]


def _loss_value(shot: dict[str, float], loss: str) -> float:
    return 1 - shot["rho"] if loss == "rho" else shot[loss]
